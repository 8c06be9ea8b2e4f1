/** Something that tests wait for and open by hand. */
export interface Gate<Value = void> {
  readonly opened: Promise<Value>;
  open(value: Value): void;
}

export function gate<Value = void>(): Gate<Value> {
  let open = (_value: Value): void => {};
  const opened = new Promise<Value>((resolve) => (open = resolve));
  return { opened, open };
}
