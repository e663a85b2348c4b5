/** How header lines are kept where a store has no type for them: one JSON text, order and multiplicity preserved. */
import type { HeaderLine } from "../../core/contract/record.ts";

export function encodeHeaders(lines: readonly HeaderLine[]): string {
  return JSON.stringify(lines);
}

/** The text was written by `encodeHeaders`; anything else in its place is a damaged record and throws. */
export function decodeHeaders(text: string): readonly HeaderLine[] {
  const lines: unknown = JSON.parse(text);
  if (!Array.isArray(lines) || !lines.every(isLine)) throw new TypeError("stored header lines are damaged");
  return lines;
}

function isLine(line: unknown): line is HeaderLine {
  return Array.isArray(line) && line.length === 2 && typeof line[0] === "string" && typeof line[1] === "string";
}
