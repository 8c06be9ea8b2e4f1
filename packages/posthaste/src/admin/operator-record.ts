/** Writes down what operators do: before it is done, and what came of it. */
import type { Database } from "../database/database.ts";
import { repeatSafely } from "../database/repeat-safely.ts";
import type { BegunAction } from "../store/queries/operate/operator-actions.ts";

export type RecordedCall = Omit<BegunAction, "actedBy">;

/** An action that has been written down and is under way. */
export interface Action {
  readonly id: string;
  /** By the database's clock. */
  readonly begunAt: Date;
}

export interface OperatorRecord {
  /**
   * Runs an action and writes down that it ended. `act` returns how many tasks, runs or queues it changed, unless its statements count
   * them. Returns the answer, and the count of all statements.
   */
  run<Answer>(
    call: RecordedCall,
    act: (action: Action) => Promise<{ readonly answer: Answer; readonly changed?: number }>,
  ): Promise<{ readonly answer: Answer; readonly affected: number }>;
}

/** @param actedBy the person or program behind the role that is logged in */
export function operatorRecord(database: Database, actedBy: string | undefined): OperatorRecord {
  const { reads } = database;
  const { operatorActions } = database.store;
  const end = (id: string, changed: number): Promise<number> =>
    repeatSafely(() => operatorActions.end(reads, id, changed));
  return {
    async run(call, act) {
      const action = await repeatSafely(async () => {
        await database.ensureSchema();
        return operatorActions.begin(reads, { ...call, actedBy });
      });
      try {
        const { answer, changed = 0 } = await act(action);
        return { answer, affected: await end(action.id, changed) };
      } catch (error) {
        // The error of the action is the one to report; its row keeps what was counted.
        await end(action.id, 0).catch(() => undefined);
        throw error;
      }
    },
  };
}
