/** What the nodes of the pipeline do. A scan is its text in base64, and a dictionary of a few words translates it. */
import { defineTask, fail } from "posthaste";
import { z } from "zod";

const dictionary = new Map([
  ["der", "the"],
  ["die", "the"],
  ["das", "the"],
  ["hund", "dog"],
  ["katze", "cat"],
  ["pferd", "horse"],
  ["schläft", "sleeps"],
  ["wartet", "waits"],
  ["läuft", "runs"],
]);

export const splitDocument = defineTask({
  name: "split-document",
  input: z.object({ scans: z.array(z.string()) }),
  run: async ({ scans }) => ({
    pages: scans.map((scan, index) => ({ number: index + 1, scan })),
    isLong: scans.length > 2,
  }),
});

export const readScan = defineTask({
  name: "read-scan",
  input: z.object({ scan: z.base64() }),
  run: async ({ scan }) => Buffer.from(scan, "base64").toString("utf8"),
});

export const translate = defineTask({
  name: "translate",
  input: z.object({ text: z.string() }),
  run: async ({ text }) =>
    text
      .split(" ")
      .map((word) => dictionary.get(word.toLowerCase()) ?? word)
      .join(" "),
});

export const review = defineTask({
  name: "review",
  input: z.object({ reviewer: z.string(), pages: z.array(z.string()) }),
  errors: ["AWAY"],
  run: async ({ reviewer, pages }) => {
    if (reviewer === "carol") return fail("AWAY", `${reviewer} is away`);
    return `${reviewer} has read ${pages.length}`;
  },
});

export const listContents = defineTask({
  name: "list-contents",
  run: async (pages: string[]) => pages.map((text, index) => `${index + 1}. ${text}`),
});

export const summarise = defineTask({
  name: "summarise",
  input: z.object({ pages: z.array(z.string()), reviews: z.array(z.string()) }),
  run: async ({ pages, reviews }) => `${pages.join(", ")} (${reviews.join(", ")})`,
});
