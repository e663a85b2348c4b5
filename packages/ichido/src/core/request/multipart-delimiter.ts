/** The delimiter lines of a multipart body (RFC 2046 section 5.1.1), found in bytes that may go on. */

/** The most white space after a boundary, which mail gateways add. Without a bound the scan could never decide. */
export const delimiterPaddingMax = 1024;

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const hyphen = 0x2d;

export type DelimiterSight =
  | {
      readonly kind: "delimiter";
      /** Where the content before it ends: the line break in front belongs to the delimiter. */
      readonly start: number;
      /** Where the content behind it begins. */
      readonly end: number;
      readonly isLast: boolean;
    }
  /** More bytes are needed to decide what begins at `start`. */
  | { readonly kind: "undecided"; readonly start: number }
  /** A boundary with more white space after it than `delimiterPaddingMax`. */
  | { readonly kind: "endless"; readonly start: number }
  | { readonly kind: "none" };

/** Finds the first delimiter; `isEnded` when no bytes will follow. */
export function createDelimiterScan(boundary: string): (bytes: Buffer, isEnded: boolean) => DelimiterSight {
  const lineBreakAndBoundary = Buffer.from(`\r\n--${boundary}`, "latin1");

  return (bytes, isEnded) => {
    for (let at = bytes.indexOf(lineBreakAndBoundary); at >= 0; at = bytes.indexOf(lineBreakAndBoundary, at + 1)) {
      const sight = sightAt(bytes, at, { length: lineBreakAndBoundary.length, isEnded });
      if (sight !== undefined) return sight;
    }
    const start = isEnded ? -1 : tailOf(bytes, lineBreakAndBoundary);
    return start < 0 ? { kind: "none" } : { kind: "undecided", start };
  };
}

/** A delimiter has its own line; white space may follow the boundary, and two hyphens if it is the last. */
function sightAt(
  bytes: Buffer,
  start: number,
  { length, isEnded }: { readonly length: number; readonly isEnded: boolean },
): DelimiterSight | undefined {
  const behind = start + length;
  const isLast = bytes[behind] === hyphen && bytes[behind + 1] === hyphen;
  const padding = isLast ? behind + 2 : behind;
  let end = padding;
  while (bytes[end] === 0x20 || bytes[end] === 0x09) end += 1;
  if (end - padding > delimiterPaddingMax) return { kind: "endless", start };
  if (bytes[end] === carriageReturn && bytes[end + 1] === lineFeed) {
    return { kind: "delimiter", start, end: end + 2, isLast };
  }
  if (end === bytes.length && isLast && isEnded) return { kind: "delimiter", start, end, isLast };
  if (isEnded) return undefined;
  const mayBeLast = !isLast && end === behind && bytes[behind] === hyphen && bytes.length === behind + 1;
  const mayEndHere = bytes[end] === carriageReturn && bytes.length === end + 1;
  return end === bytes.length || mayEndHere || mayBeLast ? { kind: "undecided", start } : undefined;
}

/** The position at which the bytes end with a beginning of the delimiter, or -1. */
function tailOf(bytes: Buffer, delimiter: Buffer): number {
  const first = Math.max(0, bytes.length - delimiter.length + 1);
  for (let at = bytes.indexOf(carriageReturn, first); at >= 0; at = bytes.indexOf(carriageReturn, at + 1)) {
    if (bytes.subarray(at).equals(delimiter.subarray(0, bytes.length - at))) return at;
  }
  return -1;
}
