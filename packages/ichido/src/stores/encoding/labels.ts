/** Labels as one JSON object, names sorted, so that equal labels are equal texts; none at all is no text. */
export type Labels = Readonly<Record<string, string>>;

export function encodeLabels(labels: Labels | undefined): string | null {
  if (labels === undefined) return null;
  const names = Object.keys(labels).toSorted();
  if (names.length === 0) return null;
  // Pairs, not an object literal: a label may be called `__proto__`.
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, labels[name]])));
}

export function decodeLabels(text: string | null): Labels {
  if (text === null) return {};
  const value: unknown = JSON.parse(text);
  if (!isLabels(value)) throw new TypeError("stored labels are damaged");
  return value;
}

function isLabels(value: unknown): value is Labels {
  return typeof value === "object" && value !== null && Object.values(value).every((part) => typeof part === "string");
}
