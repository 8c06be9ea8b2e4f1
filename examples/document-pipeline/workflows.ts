/** A document becomes pages, pages are read and translated one by one, and two of three reviewers are enough. */
import { defineWorkflow } from "posthaste";
import { z } from "zod";
import { listContents, readScan, review, splitDocument, summarise, translate } from "./tasks.ts";

export const translatePage = defineWorkflow({
  name: "translate-page",
  input: z.object({ number: z.number(), scan: z.string() }),
  build: (flow, input) => {
    const text = flow.node("ocr", readScan, { scan: input.scan });
    return flow.node("translated", translate, { text: text.output }).output;
  },
});

export const translateDocument = defineWorkflow({
  name: "translate-document",
  input: z.object({ scans: z.array(z.string()) }),
  success: { cases: [["summary"]] }, // a reviewer who is away does not fail it
  build: (flow, input) => {
    const document = flow.node("document", splitDocument, { scans: input.scans });
    const pages = flow.each("pages", translatePage, document.output.pages, (page) => page);

    const reviews = flow.quorum(
      2,
      ["alice", "bob", "carol"].map((reviewer) =>
        flow.node(reviewer, review, { reviewer, pages: pages.output }),
      ),
    );
    const contents = flow.when(document.output.isLong, () =>
      flow.node("contents", listContents, pages.output),
    );
    const summary = flow.node("summary", summarise, {
      pages: pages.output,
      reviews: reviews.output,
    });
    return { summary: summary.output, contents: contents.output };
  },
});
