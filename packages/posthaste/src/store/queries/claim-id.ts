/** How a new claim is called: in SQL, where it is stored, and in TypeScript, so that it need not travel back. */
import { sql } from "../sql.ts";

/**
 * Made of `$6` and `task_id`: a random half that is new for every statement, and the task's own random half. A third of
 * what a new uuid for each costs.
 */
export const NEW_CLAIM_ID = sql`
  encode(substring(uuid_send($6::uuid) for 8) || substring(uuid_send(task_id) from 9), 'hex')::uuid`;

/** The same of a seed as it was sent for `$6`. */
export function claimIdOf(seed: string, taskId: string): string {
  return seed.slice(0, SEED_LENGTH) + taskId.slice(SEED_LENGTH);
}

/** What a claim's id says of the statement that made it: the same as of the seed that the statement was given. */
export function seedOf(claimIdOrSeed: string): string {
  return claimIdOrSeed.slice(0, SEED_LENGTH);
}

/** Eight bytes, as a uuid writes them. */
const SEED_LENGTH = 18;
