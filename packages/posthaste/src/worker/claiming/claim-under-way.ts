import type { Connection } from "../../store/connection.ts";
import type { ClaimedAndStarted } from "./claim-transaction.ts";
import type { LoopPlan } from "./plan-claim.ts";

/** A claim that has its slots and is being sent. One of the two functions is called when its fate is known. */
export interface ClaimUnderWay {
  readonly plan: LoopPlan;
  /** Starts what it brought. */
  taken(connection: Connection, reply: ClaimedAndStarted): void;
  /** Its answer is lost, or was this error. */
  failed(error: unknown): void;
}
