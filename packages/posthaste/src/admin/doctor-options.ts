import type { Config } from "../config/config.ts";
import type { DoctorLimits } from "../doctor/doctor.ts";
import { PosthasteError } from "../domain/errors.ts";
import { OptionReader } from "../domain/option-reader.ts";

/** From where on something is reported. */
export interface DoctorOptions {
  /** A transaction that is open for longer, 0 or more. Default 300,000 (5 minutes). */
  readonly longTransactionMs?: number;
  /** A slot or standby that needs rows older than so many transactions. Default 1,000,000. */
  readonly heldBackTransactions?: number;
  /** A slot that keeps so much of the write-ahead log. Default 10 GiB. */
  readonly keptLogBytes?: number;
  /** A table with so many dead rows, if they are more than its living ones. Default 50,000. */
  readonly deadRows?: number;
  /** A table that moves tasks and has this size, if it is many times larger than its rows need. Default 256 MiB. */
  readonly bloatBytes?: number;
  /** A worker without a heartbeat for this long. Default: `workerRecovery.sweepThresholdMs`. */
  readonly staleAfterMs?: number;
}

const MEBIBYTE = 1_048_576;
const any = { min: 0, max: Number.MAX_SAFE_INTEGER };

export function readDoctorOptions(
  given: DoctorOptions | undefined,
  { workerRecovery }: Config,
): DoctorLimits {
  const options = new OptionReader("options", given, [
    "longTransactionMs",
    "heldBackTransactions",
    "keptLogBytes",
    "deadRows",
    "bloatBytes",
    "staleAfterMs",
  ]);
  const limits = {
    transactionMs: options.integer("longTransactionMs", any, 300_000),
    xidAge: options.integer("heldBackTransactions", any, 1_000_000),
    keptBytes: options.integer("keptLogBytes", any, 10_240 * MEBIBYTE),
    deadRows: options.integer("deadRows", any, 50_000),
    bloatBytes: options.integer("bloatBytes", any, 256 * MEBIBYTE),
    staleAfterMs: options.integer("staleAfterMs", any, workerRecovery.sweepThresholdMs),
  };
  if (options.problems.length > 0)
    throw PosthasteError.of("VALIDATION_FAILED", "nothing was examined", options.problems);
  return limits;
}
