/** A library that exports workflows writes declaration files: all that they name can be imported from "posthaste". */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { compile } from "./compile.ts";

const source = `import { defineTask, defineWorkflow, type Flow } from "posthaste";
import { z } from "zod";
export const task = defineTask({ name: "t", errors: ["NO"], run: (n: number) => ({ n, list: [n] }) });
export function nodes(flow: Flow) {
  const a = flow.node("a", task, 1, { after: [] });
  const b = flow.when(a.output.n, () => flow.node("b", task, 1));
  const each = flow.each("each", task, a.output.list, (n) => n);
  return { a, b, each, any: flow.any([a, b]), is: flow.equals(a.output.n, 1), result: a.result, each0: each.results[0] };
}
export const workflow = defineWorkflow({
  name: "w",
  input: z.object({ n: z.number() }),
  build: (flow) => {
    const { a, b, any, result } = nodes(flow);
    return flow.output({ any: any.output, b: b.output, result }, [a]);
  },
});
export const output = (flow: Flow) => flow.output(1, [nodes(flow).a]);
`;

describe("workflow declarations", () => {
  test("name exported types only", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "posthaste-declarations-"));
    try {
      const emit = ["--noEmit", "false", "--declaration", "--emitDeclarationOnly"];
      expect(await compile(source, ...emit, "--outDir", folder)).toBe("");
      const declared = await readFile(path.join(folder, "mistakes.d.ts"), "utf8");
      expect(declared).toContain('import("posthaste").Workflow<');
      expect(declared.match(/import\("(?!posthaste")[^)]*\)\.\w+/g)).toBeNull();
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
