/** `1 task`, `3 tasks`. */
export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}

/** `1,234,567`. */
export function quantity(count: number): string {
  return count.toLocaleString("en-US");
}
