import { posthaste } from "posthaste";
import { charge, fetchOrder, packItem, printLabel, writeAudit } from "./tasks.ts";
import { shipOrder } from "./workflow.ts";

export const app = posthaste({
  tasks: [charge, fetchOrder, packItem, printLabel, writeAudit],
  workflows: [shipOrder],
});
