/** What a text says as JSON; `undefined`, which JSON cannot say, where it is none. */
export function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
