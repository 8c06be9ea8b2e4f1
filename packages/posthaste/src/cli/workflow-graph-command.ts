import { Option, type Command } from "commander";
import { appFacts, type AppFacts } from "../app/app-facts.ts";
import { graphMermaid } from "../domain/graph-mermaid.ts";
import { graphText } from "../domain/graph-text.ts";
import { quoted } from "../domain/names.ts";
import { nearestName } from "../domain/nearest-name.ts";
import type { WorkflowGraph } from "../domain/workflow-graph.ts";
import { loadApp } from "./load-app.ts";
import { answeringCommand } from "./operator-command.ts";
import { complain, say } from "./output.ts";
import { UsageError } from "./usage-error.ts";

type Format = "text" | "mermaid" | "json";
type Workflows = AppFacts["workflows"];

interface GraphOptions {
  readonly format: Format;
  readonly json?: true;
}

/** Asks no database: the graph is that of the definition. `workflows show` has the one of a run. */
export function workflowGraphCommand(): Command {
  return answeringCommand("graph", {
    description:
      "print the graph of one workflow of an app, or of all; exit code 1 if one has problems",
    examples: [
      "workflows graph app.ts",
      "workflows graph app.ts ship-order --format mermaid",
      "workflows graph app.ts ship-order --json",
    ],
  })
    .argument("<app>", "the file that exports the app, e.g. app.ts")
    .argument("[name]", "the workflow (default: all)")
    .addOption(
      new Option("-f, --format <format>", "the output format; --json is short for json")
        .choices(["text", "mermaid", "json"])
        .default("text"),
    )
    .action(async (file: string, name: string | undefined, { format, json }: GraphOptions) => {
      const workflows = named(await workflowsOf(file), name);
      const graphs = workflows.map(({ graph }) => graph);
      say(printed(graphs, json ? "json" : format, name !== undefined));
      for (const { name: of, problems } of workflows) {
        for (const { code, path, message } of problems) {
          process.exitCode = 1;
          complain(`${of}: ${path === "" ? "" : `${path}: `}${message} (${code})`);
        }
      }
    });
}

async function workflowsOf(file: string): Promise<Workflows> {
  const app = await loadApp(file);
  try {
    const { workflows } = appFacts(app);
    if (workflows.length > 0) return workflows;
    throw new UsageError(
      `the app in ${file} has no workflows; expected \`posthaste({ workflows: [ … ] })\``,
    );
  } finally {
    await app.close();
  }
}

function named(workflows: Workflows, name: string | undefined): Workflows {
  if (name === undefined) return workflows;
  const found = workflows.filter((workflow) => workflow.name === name);
  if (found.length > 0) return found;
  const known = [...new Set(workflows.map((workflow) => workflow.name))];
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? `known: ${known.join(", ")}` : `did you mean "${nearest}"?`;
  throw new UsageError(`there is no workflow ${quoted(name)}; ${hint}`);
}

/** As JSON one graph is an object, all of them are a list. */
function printed(graphs: readonly WorkflowGraph[], format: Format, isOne: boolean): string {
  if (format === "mermaid") return graphMermaid(graphs);
  if (format === "text") return graphs.map(graphText).join("\n\n");
  return JSON.stringify(isOne && graphs.length === 1 ? graphs[0] : graphs, null, 2);
}
