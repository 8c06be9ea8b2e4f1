/** `ctx.workflow`: the run of which the task is a node. */
import type { Json } from "../domain/json.ts";
import type { TaskResult } from "../domain/result.ts";
import type { AnyContract, CodeOf, OutputOf } from "./task.ts";

export interface NodeContext {
  /** The id of the run. */
  readonly id: string;
  /** The name of the workflow. */
  readonly name: string;
  /** The node's id in the graph. */
  readonly node: string;
  /** Its place in the array that was fanned out over, from 0; undefined if it is no item. */
  readonly item: number | undefined;
  /** The input of the run. */
  readonly input: Json;
  /**
   * The result of another node of the same run; null if it has not ended. The task gives the type, and must be that node's:
   *
   *     const order = await ctx.workflow?.resultFor("order", fetchOrder);
   */
  resultFor<T extends AnyContract>(
    node: string,
    task: T,
  ): Promise<TaskResult<OutputOf<T>, CodeOf<T>> | null>;
  /** The same for a fan-out: how each of its items ended, in the order of the array. */
  resultsFor<T extends AnyContract>(
    node: string,
    task: T,
  ): Promise<readonly (TaskResult<OutputOf<T>, CodeOf<T>> | null)[]>;
}
