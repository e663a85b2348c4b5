/**
 * Several texts as one, such that different lists never give the same result: `["a:b", "c"]` and `["a", "b:c"]` stay
 * apart, and so do an absent part and an empty one. Joining with a delimiter cannot promise that.
 */
export function lengthPrefixed(parts: readonly (string | undefined)[]): string {
  let text = "";
  for (const part of parts) text += part === undefined ? "-" : `${part.length}:${part}`;
  return text;
}
