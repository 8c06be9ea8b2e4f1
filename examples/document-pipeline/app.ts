import { posthaste } from "posthaste";
import { listContents, readScan, review, splitDocument, summarise, translate } from "./tasks.ts";
import { translateDocument } from "./workflows.ts";

export const app = posthaste({
  tasks: [listContents, readScan, review, splitDocument, summarise, translate],
  workflows: [translateDocument],
});
