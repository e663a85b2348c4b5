/** Text of strangers on a terminal: nothing in it moves the cursor, changes colours or turns the line around. */

/** C0, C1, line and paragraph separators, and the signs that reverse the direction of what follows. */
// eslint-disable-next-line no-control-regex -- what is looked for
const hidden = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

const escaped = (sign: string): string => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;

export function visible(text: string): string {
  return text.toWellFormed().replace(hidden, escaped);
}

/** JSON escapes what ends a line, but not all that a terminal obeys. */
export function jsonLine(value: object): string {
  return `${JSON.stringify(value).replace(hidden, escaped)}\n`;
}

/** Takes no room of its own. */
const zeroWidth = /^[\p{M}\p{Cf}\ufe00-\ufe0f]$/u;
/** Takes the room of two letters: most of Chinese, Japanese and Korean, and pictures. */
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

function roomOf(sign: string): number {
  return zeroWidth.test(sign) ? 0 : wide.test(sign) ? 2 : 1;
}

/** How many columns it takes on a terminal. */
export function widthOf(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length;
  let width = 0;
  for (const sign of text) width += roomOf(sign);
  return width;
}

/** At most `width` columns; what is cut off is told by an ellipsis. */
export function fitted(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let room = width - 1;
  for (const sign of text) {
    room -= roomOf(sign);
    if (room < 0) break;
    kept += sign;
  }
  return `${kept}…`;
}

export function padded(text: string, width: number, align: "left" | "right" = "left"): string {
  const gap = " ".repeat(Math.max(0, width - widthOf(text)));
  return align === "left" ? text + gap : gap + text;
}
