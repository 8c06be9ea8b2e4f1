/** `posthaste workflows graph`, and the report of `posthaste check` on workflows. Neither connects to a database. */
import { expect, test } from "vitest";
import { runPosthaste, useAppFiles, type Ran } from "../support/command-line.ts";

const appFile = useAppFiles();

function posthaste(...args: string[]): Promise<Ran> {
  return runPosthaste({ DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" }, ...args);
}

const tasks = `import { defineTask, defineWorkflow, posthaste } from "posthaste";
const fetchOrder = defineTask({ name: "fetch-order", run: (input: { id: string }) => ({ total: 3, input }) });
const charge = defineTask({ name: "charge", run: (input: { total: number }) => input.total });
`;
const shop = appFile(
  "shop.ts",
  `${tasks}
const pay = defineWorkflow({
  name: "pay-order",
  build: (flow) => {
    const order = flow.node("order", fetchOrder, { id: "1" });
    return flow.node("paid", charge, { total: order.output.total }).output;
  },
});
const ship = defineWorkflow({
  name: "ship-order",
  version: 2,
  build: (flow) => flow.workflow("pay", pay).output,
});
export const app = posthaste({ tasks: [fetchOrder, charge], workflows: [ship] });`,
);
const broken = appFile(
  "broken.ts",
  `${tasks}
const wrong = defineWorkflow({
  name: "wrong",
  success: { optional: ["payed"] },
  build: (flow) => {
    flow.node("paid", charge, { total: 1 }, { queue: "monney" });
  },
});
export const app = posthaste({ tasks: [fetchOrder], workflows: [wrong], queues: { money: {}, default: {} } });`,
);
const none = appFile("none.ts", `${tasks}export const app = posthaste({ tasks: [charge] });`);

test("graph prints the named workflow as text", async () => {
  expect(await posthaste("workflows", "graph", shop, "pay-order")).toEqual({
    code: 0,
    stderr: "",
    stdout: `pay-order, version 1

  order  fetch-order { id: "1" }
  paid   charge { total: order.output.total }  after order

  output   paid.output
  onError  fail
`,
  });
});

test("graph prints all workflows as a Mermaid chart", async () => {
  const { code, stdout } = await posthaste("workflows", "graph", shop, "--format", "mermaid");

  expect(code).toBe(0);
  expect(stdout).toMatch(/^flowchart TD\n {2}subgraph w0\["ship-order, version 2"\]\n/);
  expect(stdout).toContain("    w1n0 --> w1n1\n");
});

test("graph prints one stored graph as a JSON object, and all as a list", async () => {
  const one = await posthaste("workflows", "graph", shop, "pay-order", "-f", "json");
  expect(JSON.parse(one.stdout)).toMatchObject({
    format: 1,
    name: "pay-order",
    nodes: [{ id: "order" }, { id: "paid", needs: [{ node: "order", accepts: "success" }] }],
  });

  const all = await posthaste("workflows", "graph", shop, "-f", "json");
  expect(JSON.parse(all.stdout)).toMatchObject([{ name: "ship-order" }, { name: "pay-order" }]);
});

test("graph prints a workflow with problems and the problems, and exits with 1", async () => {
  const { code, stdout, stderr } = await posthaste("workflows", "graph", broken);

  expect(code).toBe(1);
  expect(stdout).toContain("paid  charge { total: 1 } (queue monney)");
  expect(stderr).toBe(
    'error wrong: success.optional[0]: there is no node "payed"; did you mean "paid"? (SUCCESS_NODE_UNKNOWN)\n',
  );
});

test("check reports the problems of workflows and of the app around them, all at once", async () => {
  const { code, stderr } = await posthaste("check", broken);

  expect(code).toBe(1);
  expect(stderr.split("\n")).toEqual([
    'error workflows.wrong.success.optional[0]: there is no node "payed"; did you mean "paid"? (SUCCESS_NODE_UNKNOWN)',
    'error workflows.wrong.nodes.paid: names the queue "monney", which is not configured; did you mean "money"? (QUEUE_UNKNOWN)',
    `error workflows.wrong: its task "charge" is not among the app's tasks, so no worker of this app runs it; add it to tasks (TASK_NOT_REGISTERED)`,
    "",
  ]);
});

test("check names the workflows of a valid app", async () => {
  const { code, stdout } = await posthaste("check", shop);

  expect(code).toBe(0);
  expect(stdout).toMatch(
    /\nok 2 tasks: fetch-order, charge; 2 workflows: ship-order, pay-order\n$/,
  );
});

test.each([
  [
    "an unknown name that is near a known one",
    ["graph", shop, "ship-ordr"],
    'there is no workflow "ship-ordr"; did you mean "ship-order"?',
  ],
  ["an unknown name that is near no other", ["graph", shop, "x"], "known: ship-order, pay-order"],
  ["an app without workflows", ["graph", none], "has no workflows"],
  ["an unknown format", ["graph", shop, "--format", "svg"], "text, mermaid, json"],
  ["an unknown option", ["graph", shop, "--fromat", "json"], "Did you mean --format?"],
  ["an unknown command", ["grahp", shop], "Did you mean graph?"],
])("posthaste workflows exits with 2 for %s", async (_what, args, words) => {
  const { code, stderr } = await posthaste("workflows", ...args);

  expect(stderr).toContain(words);
  expect(code).toBe(2);
});
