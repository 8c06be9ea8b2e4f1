import { expect, test } from "vitest";
import { taskAhead } from "../../test/support/claimed-task.ts";
import { AheadLine } from "./ahead-line.ts";
import { HeldTasks } from "./held-tasks.ts";
import type { TaskRun } from "./task-run.ts";

/** Two slots, and what began in them. */
function setUp(onRun: (held: HeldTasks, line: AheadLine) => void = () => undefined) {
  const held = new HeldTasks();
  const began: string[] = [];
  const state = { mayBegin: true };
  const line: AheadLine = new AheadLine({
    held,
    concurrency: 2,
    mayBegin: () => state.mayBegin,
    run: (task) => {
      began.push(task.id);
      held.running.add({ claimed: task } as TaskRun);
      onRun(held, line);
    },
  });
  held.fetchedAhead(["a", "b", "c"].map((id) => taskAhead(id, true)));
  return { held, began, line, state };
}

test("as many begin as there are slots, in order", () => {
  const { held, began, line } = setUp();
  line.begin();
  expect(began).toEqual(["a", "b"]);
  held.running.clear();
  line.begin();
  expect(began).toEqual(["a", "b", "c"]);
});

test("nothing begins while the worker must not start anything", () => {
  const { began, line, state } = setUp();
  state.mayBegin = false;
  line.begin();
  expect(began).toEqual([]);
});

test("bodies that end at once, and ask for the next from within, follow each other in order", () => {
  const { began, line } = setUp((held, self) => {
    held.running.clear();
    self.begin();
  });
  line.begin();
  expect(began).toEqual(["a", "b", "c"]);
});
