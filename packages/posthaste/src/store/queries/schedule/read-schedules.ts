import { sql, statement, type Db, type SqlText } from "../../sql.ts";
import { SCHEDULE_COLUMNS, type ScheduleRow } from "./schedule-rows.ts";

/** For operators. */
export function readSchedules(schema: SqlText) {
  const LIST = statement(sql`select ${SCHEDULE_COLUMNS} from ${schema}.schedules order by name`);

  const GET = statement(sql`select ${SCHEDULE_COLUMNS} from ${schema}.schedules where name = $2`);

  // Its firings go with it: a new schedule of that name is another one.
  const DELETE = statement(sql`
    with gone as (
      delete from ${schema}.schedules where name = $1 returning name
    ), history as (
      delete from ${schema}.schedule_firings where schedule in (select name from gone)
    )
    select name as "name" from gone`);

  return {
    list: (db: Db): Promise<ScheduleRow[]> => db.query<ScheduleRow>(LIST, [null]),
    async get(db: Db, name: string): Promise<ScheduleRow | undefined> {
      const [row] = await db.query<ScheduleRow>(GET, [null, name]);
      return row;
    },
    async remove(db: Db, name: string): Promise<void> {
      await db.query(DELETE, [name]);
    },
  };
}
