import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { makeProgram } from "../packages/posthaste/src/cli/main.ts";
import { commandLinePage } from "./command-line-page.ts";

const stored = readFileSync(new URL("../docs/operations/command-line.md", import.meta.url), "utf8");

test("the stored page of the command line is the one that the commands make", () => {
  expect(stored).toBe(commandLinePage(makeProgram()));
});

test("every command has a section, and each option that it does not share has a row", () => {
  for (const command of makeProgram().commands) {
    for (const one of command.commands)
      expect(stored).toContain(`#### \`${command.name()} ${one.name()}\``);
    expect(stored).toContain(`### \`${command.name()}\``);
  }
  expect(stored).toContain("| `-w, --wait` |");
});

test("an option that is added changes the page", () => {
  const program = makeProgram();
  program.command("fly").description("take off").option("--high", "above | beyond");
  expect(commandLinePage(program)).toContain("| `--high` | above \\| beyond |");
});
