/** Where a value stands inside another, as a person would write it: `items[3].price`, `headers["x-id"]`. */
export function valuePath(keys: readonly PropertyKey[]): string {
  let path = "";
  for (const key of keys) {
    if (typeof key === "string" && IDENTIFIER.test(key)) path += path === "" ? key : `.${key}`;
    else path += `[${typeof key === "string" ? JSON.stringify(key) : String(key)}]`;
  }
  return path;
}

const IDENTIFIER = /^[\p{ID_Start}_$][\p{ID_Continue}$]*$/u;
