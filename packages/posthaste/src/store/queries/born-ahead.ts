/**
 * How a task that is fetched ahead is born. CLAIMED, as a rule: whoever fetched it writes once more before the body begins,
 * because the status decides what a crash means. A task that is to be run again after a crash, whatever it was doing, does
 * not need that: where the worker asks for it, it is born RUNNING.
 *
 * Not so if it is good only until some time, is a node of a run, or is of a queue with a cap: those are looked at again when
 * they start. And not after a crash: one counts against all that were fetched beside the task that caused it, because nobody
 * knows which of them had begun. Once is bearable, where three end a task; so it happens once, and only there.
 */
import { sql, type SqlText } from "../sql.ts";

/** Of a row of `moved` with its `sent`. `$8`: whether the worker asks for it. */
export function beginsAhead(isUncapped: SqlText): SqlText {
  return sql`$8::boolean and ${isUncapped} and moved.good_until is null
               and coalesce(moved.crash_count, 0) = 0 and sent.workflow_id is null
               and coalesce(sent.options ->> 'onCrash', '') = 'requeue'
               and coalesce(sent.options ->> 'maxCrashes', '') not in ('1', '2')`;
}
