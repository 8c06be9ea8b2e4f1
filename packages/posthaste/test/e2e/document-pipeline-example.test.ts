/** The document pipeline: fan-out over a nested workflow, a quorum, a condition, and a printed graph. */
import { join } from "node:path";
import { expect } from "vitest";
import { it, processesOf, traces } from "../embedded/real-processes.ts";
import { runExample } from "../support/run-example.ts";

it("the document pipeline example splits, translates and summarises two documents, though one reviewer fails", async ({
  stage,
}) => {
  const cwd = stage.directory();
  const { printed, stuck } = await runExample("document-pipeline/main.ts", cwd);

  expect(printed).toEqual([
    "translate-document, version 1",
    "",
    "  document  split-document { scans: input.scans }",
    "  pages     each of document.output.pages: workflow translate-page item  after document",
    '  alice     review { reviewer: "alice", pages: pages.output }            after pages',
    '  bob       review { reviewer: "bob", pages: pages.output }              after pages',
    '  carol     review { reviewer: "carol", pages: pages.output }            after pages',
    "  $quorum1  2 of alice, bob, carol",
    "  $when2    when document.output.isLong                                  after document",
    "  contents  list-contents pages.output                                   after pages, $when2",
    "  summary   summarise { pages: pages.output, reviews: $quorum1.output }  after pages, $quorum1",
    "",
    "  output   { summary: summary.output, contents: contents.output }",
    "  onError  fail",
    "  success  if summary completed",
    "",
    "translate-page, version 1",
    "",
    "  ocr         read-scan { scan: input.scan }",
    "  translated  translate { text: ocr.output }  after ocr",
    "",
    "  output   translated.output",
    "  onError  fail",
    "",
    "short document: COMPLETED",
    "  document  COMPLETED",
    "  pages     COMPLETED  1 of 1",
    "  alice     COMPLETED",
    "  bob       COMPLETED",
    "  carol     FAILED",
    "  $quorum1  COMPLETED",
    "  $when2    SKIPPED",
    "  contents  SKIPPED",
    "  summary   COMPLETED",
    '  {"summary":"the dog sleeps (alice has read 1, bob has read 1)"}',
    "long document: COMPLETED",
    "  document  COMPLETED",
    "  pages     COMPLETED  3 of 3",
    "  alice     COMPLETED",
    "  bob       COMPLETED",
    "  carol     FAILED",
    "  $quorum1  COMPLETED",
    "  $when2    COMPLETED",
    "  contents  COMPLETED",
    "  summary   COMPLETED",
    '  {"summary":"the cat waits, the horse runs, the dog waits (alice has read 3, bob has read 3)",' +
      '"contents":["1. the cat waits","2. the horse runs","3. the dog waits"]}',
    "",
  ]);
  expect(stuck).toEqual([]);
  const server = join(cwd, ".posthaste");
  expect(processesOf(server)).toEqual([]);
  expect(traces(server)).toEqual([]);
});
