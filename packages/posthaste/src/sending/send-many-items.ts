/** The items of `sendMany`: plain inputs, or inputs with options of their own. */
import type { TaskOptions } from "../define/send-options.ts";
import type { AnyContract } from "../define/task.ts";
import { PosthasteError } from "../domain/errors.ts";
import { article } from "../domain/names.ts";
import { isRecord } from "../domain/option-reader.ts";

/** An input, or `{ input, …options }`. An input that has a field `input` of its own must be given in the second form. */
export type SendManyItem<Input> = Input | ({ readonly input: Input } & TaskOptions);

export function readItems(
  task: AnyContract,
  items: readonly unknown[],
  shared: TaskOptions,
): { readonly input: unknown; readonly options: TaskOptions | undefined }[] {
  if (!Array.isArray(items)) {
    throw PosthasteError.of("VALIDATION_FAILED", `no task "${task.name}" was sent`, [
      { path: "items", message: `expected a list, found ${article(items)}` },
    ]);
  }
  const common = Object.keys(shared).length === 0 ? undefined : shared;
  return items.map((item: unknown) => {
    if (!isRecord(item) || !Object.hasOwn(item, "input")) return { input: item, options: common };
    const { input, ...own } = item;
    return { input, options: Object.keys(own).length === 0 ? common : { ...shared, ...own } };
  });
}
