/** The same JSON value in other spellings. */
type Spell = (value: string | number) => string;

function write(value: unknown, spell: Spell, options: { readonly reversed: boolean; readonly space: string }): string {
  const { space } = options;
  if (Array.isArray(value)) return `[${space}${value.map((each) => write(each, spell, options)).join(`,${space}`)}]`;
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value);
    const members = (options.reversed ? entries.toReversed() : entries).map(
      ([name, each]) => `${spell(name)}${space}:${space}${write(each, spell, options)}`,
    );
    return `{${space}${members.join(`,${space}`)}${space}}`;
  }
  if (typeof value === "string" || typeof value === "number") return spell(value);
  return JSON.stringify(value) ?? "null";
}

const plain: Spell = (value) => JSON.stringify(value);

export function reordered(value: unknown): string {
  return write(value, plain, { reversed: true, space: " \n" });
}

/** `100` as `100.0e0`. */
export function withOtherNumbers(value: unknown): string {
  const spell: Spell = (each) => (Number.isSafeInteger(each) ? `${String(each)}.0e0` : plain(each));
  return write(value, spell, { reversed: false, space: "" });
}

/** Every letter as its escape. */
export function withEscapes(value: unknown): string {
  const spell: Spell = (each) =>
    typeof each === "number"
      ? plain(each)
      : `"${Array.from({ length: each.length }, (_, index) => `\\u${each.charCodeAt(index).toString(16).padStart(4, "0")}`).join("")}"`;
  return write(value, spell, { reversed: false, space: "" });
}
