/** The answer to the commit of an operator's call is lost: the repeated call answers as the first one would have. */
import { expect, test } from "vitest";
import { defineSchedule, defineTask } from "../../src/index.ts";
import { useCleanTables } from "../support/clean-tables.ts";
import { useDatabase } from "../support/database.ts";
import { cutOnce, useFaultyWires } from "./faulty-wire.ts";

const db = useDatabase();
useCleanTables(db);
const openWire = useFaultyWires(db);

const task = defineTask({ name: "report", run: () => "done" });
const yearly = defineSchedule({ name: "yearly", task, every: { days: 365 } });

/** An app that loses the answer to the first COMMIT after each `lose`. */
async function openLosing() {
  let isWanted = false;
  let watched = -1;
  let losses = 0;
  const { app } = await openWire(
    {
      toServer(bytes, link) {
        if (isWanted && bytes.includes("commit\0", 0, "latin1")) watched = link;
        return "none";
      },
      toClient(_, link) {
        if (!isWanted || link !== watched) return "none";
        [isWanted, watched] = [false, -1];
        losses++;
        return "cut before";
      },
    },
    { tasks: [task] },
  );
  await app.admin.schedules.upsert(yearly);
  const losing = <Answer>(call: () => Promise<Answer>): Promise<Answer> => {
    isWanted = true;
    return call();
  };
  return { schedules: app.admin.schedules, losing, losses: () => losses };
}

test("admin.schedules.pause and resume answer that they changed it", async () => {
  const { schedules, losing, losses } = await openLosing();
  expect(await losing(() => schedules.pause("yearly"))).toBe(true);
  expect(await losing(() => schedules.resume("yearly"))).toBe(true);
  expect(losses()).toBe(2);
  expect(await schedules.resume("yearly")).toBe(false);
});

test("admin.schedules.delete does not miss what it has deleted", async () => {
  const { schedules, losing, losses } = await openLosing();
  await losing(() => schedules.delete("yearly"));
  expect(losses()).toBe(1);
  expect(await schedules.list()).toEqual([]);
  await expect(schedules.delete("yearly")).rejects.toMatchObject({ code: "SCHEDULE_NOT_FOUND" });
});

test("admin.schedules.trigger fires once", async () => {
  const { schedules, losing, losses } = await openLosing();
  const { taskId } = await losing(() => schedules.trigger("yearly"));
  expect(losses()).toBe(1);
  expect(await db.sql("select task_id from posthaste.schedule_firings")).toEqual([
    { task_id: taskId },
  ]);
});

test("admin.tasks.sendAgain sends one copy", async () => {
  const { cut, ...losing } = cutOnce(/"posthaste"\.send_again\(/, "answer");
  const { app } = await openWire(losing, { tasks: [task] });
  const { id } = await app.send(task);
  const copy = await app.admin.tasks.sendAgain(id);
  expect(cut.times).toBe(1);
  expect(
    await db.sql("select task_id from posthaste.submissions where copy_of is not null"),
  ).toEqual([{ task_id: copy }]);
  expect(await app.admin.actions.list({ limit: 1 })).toMatchObject([{ affected: 1 }]);
});
