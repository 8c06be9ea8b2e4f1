/** The worker: what it does when things around it fail. */
import type { Shows } from "./show.ts";
import { outages } from "./worker-outages.ts";

export const worker: Shows = {
  5: {
    title: "the database goes away under load, five times on each of four ways (5 minutes)",
    run: outages,
  },
};
