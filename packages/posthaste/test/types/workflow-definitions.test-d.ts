/** The types of a definition: its input, its output, and the nodes that lead to it. */
import { z } from "zod";
import {
  defineTask,
  defineWorkflow,
  fail,
  type AnyWorkflow,
  type NodeIdOf,
  type NodeResultOf,
  type ResultCode,
  type TaskResult,
  type WorkflowInputOf,
  type WorkflowOutputOf,
} from "../../src/index.ts";
import { expectType } from "./expect-type.ts";

const find = defineTask({ name: "find", run: (id: string) => ({ id, sizes: [1, 2] }) });
const charge = defineTask({
  name: "charge",
  errors: ["NO"],
  run: (total: number) => (total > 3 ? fail("NO") : { receipt: "r" }),
});
const audit = defineTask({ name: "audit", run: (input: { ok: boolean }) => input.ok });
const tick = defineTask({ name: "tick", run: () => 1 });

const ship = defineWorkflow({
  name: "ship",
  version: 2,
  input: z.object({ id: z.string(), express: z.boolean().default(false) }),
  onError: "pause",
  build: (flow, input) => {
    const found = flow.node("found", find, input.id);
    const paid = flow.node("paid", charge, 1, { after: found });
    const sizes = flow.each("sizes", charge, found.output.sizes, (size) => size);
    const courier = flow.when(input.express, () => flow.node("courier", tick));
    flow.node("dropped", tick);
    return {
      receipt: paid.output.receipt,
      sizes: sizes.output,
      results: [paid.result, input.id, "x"],
      courier: courier.output,
      perhaps: [courier.output],
      ended: courier.result.ok,
    };
  },
});

// `start` takes what the schema takes.
expectType<{ id: string; express?: boolean | undefined }>().is<WorkflowInputOf<typeof ship>>();

// The output is what build returned, with values for refs. What stands under a condition may be missing.
type Charged = TaskResult<{ receipt: string }, "NO" | ResultCode>;
expectType<{
  receipt: string;
  sizes: { receipt: string }[];
  results: [Charged, string, "x"];
  courier: number | undefined;
  perhaps: [number | null];
  ended: boolean;
}>().is<WorkflowOutputOf<typeof ship>>();

// The nodes behind it, by what they give and by order alone; not those that were dropped.
expectType<"found" | "paid" | "sizes" | "courier">().is<NodeIdOf<typeof ship>>();
expectType<Charged>().is<NodeResultOf<typeof ship, "paid">>();
expectType<TaskResult<{ id: string; sizes: number[] }, ResultCode>>().is<
  NodeResultOf<typeof ship, "found">
>();
expectType<TaskResult<{ receipt: string }[], ResultCode>>().is<
  NodeResultOf<typeof ship, "sizes">
>();
// @ts-expect-error no such node
type Unknown = NodeResultOf<typeof ship, "payed">;
// @ts-expect-error it is not known: build dropped it
type Dropped = NodeResultOf<typeof ship, "dropped">;
export type Unused = Unknown | Dropped;

// Nodes that only come before are behind it, too: by order, a deadline, a join or a condition.
const ordered = defineWorkflow({
  name: "ordered",
  build: (flow) => {
    const a = flow.node("a", tick);
    const b = flow.node("b", tick, undefined, { after: [flow.any([a, flow.node("c", tick)])] });
    const list = flow.node("list", find, "1").output.sizes;
    const each = flow.each("each", charge, list, (n) => n, { after: b });
    const nested = flow.workflow("nested", ship, { id: "", express: true }, { after: each });
    const condition = flow.not(flow.equals(flow.node("d", tick).output, 1));
    const last = flow.when(condition, () => flow.node("last", tick, undefined, { after: nested }));
    return { last: last.output };
  },
});
expectType<"a" | "b" | "c" | "list" | "each" | "nested" | "d" | "last">().is<
  NodeIdOf<typeof ordered>
>();
const dated = defineWorkflow({
  name: "dated",
  build: (flow) => {
    const goodUntil = flow.node("date", find, "1").output.id;
    return flow.node("late", tick, undefined, { goodUntil }).output;
  },
});
expectType<"date" | "late">().is<NodeIdOf<typeof dated>>();

// Nodes that lead nowhere can be named.
const named = defineWorkflow({
  name: "named",
  build: (flow) => {
    const paid = flow.node("paid", charge, 1);
    const audited = flow.node("audited", audit, { ok: paid.result.ok });
    return flow.output({ n: 1 }, [audited]);
  },
});
expectType<"paid" | "audited">().is<NodeIdOf<typeof named>>();
expectType<{ readonly n: 1 }>().is<WorkflowOutputOf<typeof named>>();
expectType<undefined>().is<WorkflowInputOf<typeof named>>();

// Nothing returned is null; a ref alone is its value; ids that are only known as texts may be any.
const nothing = defineWorkflow({ name: "nothing", build: (flow) => void flow.node("t", tick) });
expectType<null>().is<WorkflowOutputOf<typeof nothing>>();
expectType<never>().is<NodeIdOf<typeof nothing>>();
const one = defineWorkflow({ name: "one", build: (flow) => flow.node("t", tick).output });
expectType<number>().is<WorkflowOutputOf<typeof one>>();
const loop = defineWorkflow({
  name: "loop",
  build: (flow) => ["a", "b"].map((name) => flow.node(`tick-${name}`, tick).output),
});
expectType<number[]>().is<WorkflowOutputOf<typeof loop>>();
expectType<`tick-${string}`>().is<NodeIdOf<typeof loop>>();
expectType<TaskResult<number, ResultCode>>().is<NodeResultOf<typeof loop, "tick-7">>();

// Where nodes may fail, an output may be missing; results and the run's input are there.
const lenient = defineWorkflow({
  name: "lenient",
  success: { optional: ["paid"] },
  input: z.object({ id: z.string() }),
  build: (flow, input) => {
    const paid = flow.node("paid", charge, 1);
    return { paid: paid.output, ok: paid.result.ok, result: paid.result, id: input.id, kind: "x" };
  },
});
expectType<{
  paid: { receipt: string } | undefined;
  ok: boolean;
  result: Charged;
  id: string;
  kind: "x";
}>().is<WorkflowOutputOf<typeof lenient>>();

// One of two is there, if one of them is sure to be.
const joined = defineWorkflow({
  name: "joined",
  input: z.boolean(),
  build: (flow, input) => {
    const sure = flow.node("sure", tick);
    const unsure = flow.when(input, () => flow.node("unsure", tick));
    const after = flow.node("after", charge, unsure.output);
    const reported = flow.node("reported", audit, { ok: unsure.result.ok });
    return {
      any: flow.any([sure, unsure]).output,
      unsure: flow.any([unsure]).output,
      after: after.output.receipt,
      reported: reported.output,
    };
  },
});
expectType<{
  any: number;
  unsure: number | undefined;
  after: string | undefined;
  reported: boolean;
}>().is<WorkflowOutputOf<typeof joined>>();

// Nested: the input is what the schema of the nested one makes.
const nested = defineWorkflow({
  name: "nested",
  build: (flow) => {
    const shipped = flow.workflow("shipped", ship, { id: "1", express: true });
    const again = flow.each("again", ship, shipped.output.sizes, (size) => ({
      id: size.receipt,
      express: false,
    }));
    flow.workflow("none", one);
    // @ts-expect-error a default has no effect here: no schema parses the value
    flow.workflow("unparsed", ship, { id: "1" });
    // @ts-expect-error the id is a text
    flow.workflow("wrong", ship, { id: shipped.output.sizes, express: true });
    // @ts-expect-error the input is missing
    flow.workflow("missing", ship);
    // @ts-expect-error nodes of a nested workflow have their own options
    flow.workflow("options", one, undefined, { queue: "q" });
    // @ts-expect-error nor have its items
    flow.each("item options", one, shipped.output.sizes, () => undefined, { queue: "q" });
    // @ts-expect-error a task is no workflow
    flow.workflow("task", tick);
    // @ts-expect-error a workflow is no task
    flow.node("workflow", one);
    return { codes: shipped.result, again: again.output };
  },
});
expectType<"shipped" | "again">().is<NodeIdOf<typeof nested>>();
expectType<TaskResult<WorkflowOutputOf<typeof ship>, ResultCode>>().is<
  WorkflowOutputOf<typeof nested>["codes"]
>();

const all: readonly AnyWorkflow[] = [ship, named, nothing, one, loop, lenient, joined, nested];
void all;
// @ts-expect-error a workflow is made by defineWorkflow
const fake: AnyWorkflow = { name: "fake" };
void fake;

// A value that cannot be stored does not compile, nor does one that is no value.
// @ts-expect-error a node is no value
defineWorkflow({ name: "node", build: (flow) => ({ t: flow.node("t", tick) }) });
// @ts-expect-error a join is no value
defineWorkflow({ name: "join", build: (flow) => flow.any([flow.node("t", tick)]) });
// @ts-expect-error a Date is no JSON
defineWorkflow({ name: "date", build: (flow) => [flow.node("t", tick).output, new Date()] });
// @ts-expect-error build writes the graph at once
defineWorkflow({ name: "async", build: async (flow) => void flow.node("t", tick) });
// @ts-expect-error what the schema makes is stored
defineWorkflow({ name: "input", input: z.date(), build: (flow) => void flow.node("t", tick) });
// @ts-expect-error there is no input
defineWorkflow({ name: "no input", build: (flow, input) => flow.node("f", find, input).output });
defineWorkflow({
  name: "part",
  input: z.object({ n: z.number() }),
  // @ts-expect-error the wrong part of the input
  build: (flow, { n }) => flow.node("f", find, n).output,
});
// @ts-expect-error no such option
defineWorkflow({ name: "option", onErorr: "fail", build: (flow) => void flow.node("t", tick) });
// @ts-expect-error not one of the two
defineWorkflow({ name: "choice", onError: "stop", build: (flow) => void flow.node("t", tick) });
// @ts-expect-error build is missing
defineWorkflow({ name: "no build" });
