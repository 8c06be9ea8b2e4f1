/** Keys from the bytes that a terminal sends. */

export type Key =
  | "up"
  | "down"
  | "pageUp"
  | "pageDown"
  | "first"
  | "last"
  | "next"
  | "previous"
  | "open"
  | "back"
  | "help"
  | "refresh"
  | "freeze"
  | "quit"
  | "interrupt"
  | "suspend"
  | { readonly panel: number };

const keys: Readonly<Record<string, Key>> = {
  "\u001b[A": "up",
  "\u001bOA": "up",
  k: "up",
  "\u001b[B": "down",
  "\u001bOB": "down",
  j: "down",
  "\u001b[5~": "pageUp",
  "\u001b[6~": "pageDown",
  " ": "pageDown",
  "\u001b[H": "first",
  "\u001b[1~": "first",
  g: "first",
  "\u001b[F": "last",
  "\u001b[4~": "last",
  G: "last",
  "\t": "next",
  "\u001b[C": "next",
  "\u001bOC": "next",
  l: "next",
  "\u001b[Z": "previous",
  "\u001b[D": "previous",
  "\u001bOD": "previous",
  h: "previous",
  "\r": "open",
  "\n": "open",
  "\u001b": "back",
  "\u007f": "back",
  "?": "help",
  r: "refresh",
  p: "freeze",
  q: "quit",
  "\u0003": "interrupt",
  "\u001a": "suspend",
};

const ESCAPE = "\u001b";
const SEQUENCE = new RegExp(`${ESCAPE}\\[[\\d;]*[A-Za-z~]|${ESCAPE}O[A-Z]|[\\s\\S]`, "g");

/** Unknown keys are left out. */
export function readKeys(text: string): Key[] {
  return (text.match(SEQUENCE) ?? []).flatMap((sequence): Key[] => {
    if (/^[1-9]$/.test(sequence)) return [{ panel: Number(sequence) - 1 }];
    const key = keys[sequence];
    return key === undefined ? [] : [key];
  });
}
