/** The guide about writing workflows: its examples compile and print the shown output. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { runPosthaste, useAppFiles } from "../support/command-line.ts";
import { compile } from "./compile.ts";

const guide = readFileSync(
  new URL("../../../../docs/guides/writing-workflows.md", import.meta.url),
  "utf8",
);
const blocks = [...guide.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, code = ""]) => code);
const appFile = useAppFiles();

describe("guide to writing workflows", () => {
  test("compiles, all examples in one file", async () => {
    const source = blocks.join("\n").replaceAll('"posthaste"', '"../../../src/index.ts"');
    const uses = `import { expectType } from "../expect-type.ts";
void [patient, bulk];
expectType<{ orderId: string }>().is<Started>();
expectType<{ receipt: string; labels: number }>().is<Shipped>();
expectType<"order" | "paid" | "parcels" | "labels" | "notified">().is<Ids>();
expectType<"CARD_EXPIRED">().is<Extract<Extract<Paid, { ok: false }>["error"]["code"], "CARD_EXPIRED">>();
`;

    expect(blocks.length).toBeGreaterThan(3);
    expect(await compile(source + uses)).toBe("");
  });

  test("shows the printed graph, and check finds no problem in its workflows", async () => {
    const tasks = "[fetchOrder, charge, pack, print, notify, wrap]";
    const app = `import { posthaste } from "posthaste";
export const app = posthaste({ tasks: ${tasks}, workflows: [shipOrder, patient, giftOrder, bulk] });`;
    const file = appFile("guide.ts", `${blocks.join("\n")}\n${app}`);
    const env = { DATABASE_URL: "postgres://nobody@127.0.0.1:1/none" };

    expect(await runPosthaste(env, "check", file)).toMatchObject({ code: 0, stderr: "" });
    const { stdout } = await runPosthaste(env, "workflows", "graph", file, "ship-order");
    expect(guide).toContain(`\n$ posthaste workflows graph app.ts ship-order\n${stdout}\`\`\``);
  });
});
