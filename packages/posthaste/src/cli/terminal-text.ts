/** Text by the columns that it takes on a terminal. */

/** Names and messages may hold any character: a control character would move the cursor. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ");
}

/** Wide characters of East Asia and emoji take two columns, marks that combine take none. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (/\p{Mn}|\p{Me}|\p{Cf}/u.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

/** Cut to so many columns, with … at the end of what was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  if (width <= 0) return "";
  let kept = "";
  let used = 0;
  for (const character of text) {
    const next = widthOf(character);
    if (used + next > width - 1) break;
    kept += character;
    used += next;
  }
  return `${kept}…`;
}

/** Exactly so many columns. */
export function fit(text: string, width: number, align: "left" | "right" = "left"): string {
  const shown = cut(text, width);
  const gap = " ".repeat(Math.max(0, width - widthOf(shown)));
  return align === "left" ? shown + gap : gap + shown;
}

const ESCAPE = "\u001b";
const PAINT = new RegExp(`(${ESCAPE}\\[[\\d;]*m)`);

/** Painted text, cut to so many columns. */
export function cutPainted(text: string, width: number): string {
  let left = width;
  let isCut = false;
  return text
    .split(PAINT)
    .map((part, at) => {
      if (at % 2 === 1) return part; // a colour
      if (isCut) return "";
      const shown = cut(part, left);
      isCut = shown !== part;
      left -= widthOf(shown);
      return shown;
    })
    .join("");
}

/** The same without colours. */
export function withoutPaint(text: string): string {
  return text.replaceAll(new RegExp(PAINT, "g"), "");
}
