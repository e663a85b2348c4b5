/** The value of a JSON text; `undefined`, which is no JSON value, where the text is not JSON. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // No JSON.
  }
  return undefined;
}
