import { parameter, sql, statement, type Db, type SqlText } from "../../sql.ts";

/** Which database of which cluster. A standby that is promoted keeps both. */
export interface DatabaseIdentity {
  readonly system: string;
  readonly oid: string;
}

const SYSTEM = sql`(select system_identifier::text from pg_control_system())`;
const OID = sql`(select oid::text from pg_database where datname = current_database())`;

const IDENTIFY = statement(sql`select ${SYSTEM} as "system", ${OID} as "oid"`);

/** Every role may ask. */
export async function identifyDatabase(db: Db): Promise<DatabaseIdentity | undefined> {
  const [row] = await db.query<DatabaseIdentity>(IDENTIFY);
  return row;
}

/** Whether a statement runs in the database whose identity is in two parameters, from this one on. */
export function isDatabase(first: number): SqlText {
  return sql`(${SYSTEM} = ${parameter(first)}::text and ${OID} = ${parameter(first + 1)}::text)`;
}
