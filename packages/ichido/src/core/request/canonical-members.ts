/** The members of one JSON object on their way to its canonical spelling: sorted by name, those of one name in order. */
import type { FieldTree } from "./fields.ts";

/** Up to this many members are put in their place one by one, which is faster for few. */
const insertionMax = 24;

/** Names and spellings are apart, since names are compared often and spellings only joined. */
export class Members {
  readonly #fields: FieldTree | undefined;
  readonly #names: string[] = [];
  readonly #spellings: string[] = [];
  #isSorted = true;
  /** Whether all members are here, canonical as they stand and in order. */
  isPlain: boolean;

  constructor(fields: FieldTree | undefined) {
    this.#fields = fields;
    this.isPlain = fields === undefined;
  }

  /** What counts inside the member: all of it (`true`), some of it, or nothing (`undefined`). */
  inside(name: string): FieldTree | true | undefined {
    return this.#fields === undefined ? true : this.#fields.get(name);
  }

  add(name: string, spelling: string): void {
    const names = this.#names;
    const spellings = this.#spellings;
    let at = names.length;
    if (at > 0 && name < (names[at - 1] as string)) {
      this.isPlain = false;
      if (at > insertionMax) {
        this.#isSorted = false;
      } else {
        // Past greater names only, never past an equal one: repeated members stay in the order in which they were sent.
        do {
          names[at] = names[at - 1] as string;
          spellings[at] = spellings[at - 1] as string;
          at -= 1;
        } while (at > 0 && name < (names[at - 1] as string));
      }
    }
    names[at] = name;
    spellings[at] = spelling;
  }

  /** Concatenation and not `join`: V8 links the pieces, and copies them once at the end instead of once per level. */
  spell(): string {
    const spellings = this.#isSorted ? this.#spellings : sortByName(this.#names, this.#spellings);
    let text = "{";
    for (let index = 0; index < spellings.length; index += 1) {
      text += index === 0 ? (spellings[index] as string) : `,${spellings[index] as string}`;
    }
    return `${text}}`;
  }
}

/** The engine's own order of strings is that of UTF-16 code units, and needs no comparing function. */
function sortByName(names: readonly string[], spellings: readonly string[]): string[] {
  const byName = new Map<string, string>();
  for (const [index, name] of names.entries()) {
    const before = byName.get(name);
    const spelling = spellings[index] as string;
    byName.set(name, before === undefined ? spelling : `${before},${spelling}`);
  }
  return [...byName.keys()].sort().map((name) => byName.get(name) as string);
}
