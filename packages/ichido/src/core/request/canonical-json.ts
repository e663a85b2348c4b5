/**
 * JSON text → its one canonical spelling, without going through JavaScript values: members sorted by name (UTF-16 code
 * units), no white space, one way to write each string and each number. Where doubles are exact and no member is
 * repeated this is RFC 8785; beyond that, what `JSON.parse` would lose is kept:
 *
 * - numbers exactly, at any size and precision;
 * - repeated members, all of them, in their order;
 * - a member named `__proto__` like any other;
 * - halves of surrogate pairs, as escapes; and no normalisation of text.
 *
 * Text that is not JSON by RFC 8259, byte order mark included, has no canonical spelling; nor has text nested deeper
 * than `nestingMax`. Work and memory grow with the length of the text, whatever its shape.
 */
import { canonicalNumber, plainDigitsMax } from "./canonical-number.ts";
import { hasLoneSurrogate } from "./sha256.ts";

/** Deeper than any sensible document, and far from the end of the stack. */
export const nestingMax = 500;

/**
 * Undefined when the text has no canonical spelling. With `fields`, only those members of an object count; any other
 * value counts as a whole.
 */
export function canonicalJson(text: string, fields?: FieldTree): string | undefined {
  if (hasLoneSurrogate(text)) return undefined;
  try {
    return new Reader(text).document(fields);
  } catch (error) {
    if (error instanceof NotCanonical) return undefined;
    throw error;
  }
}

/**
 * Which members count, where a route names them: `["amount", "customer.id"]`. A name leads to the members that count
 * inside, or to `true` where everything does.
 */
export type FieldTree = ReadonlyMap<string, FieldTree | true>;
type GrowingTree = Map<string, GrowingTree | true>;

const trees = new WeakMap<readonly string[], FieldTree>();

/** Made once per list: a route's list never changes. */
export function fieldTreeOf(fields: readonly string[]): FieldTree {
  const known = trees.get(fields);
  if (known !== undefined) return known;
  const tree: GrowingTree = new Map();
  for (const field of fields) {
    grow(tree, field.split("."));
    // A member may have the dots in its own name; leaving it out would let two different bodies pass as one.
    tree.set(field, true);
  }
  trees.set(fields, tree);
  return tree;
}

function grow(tree: GrowingTree, path: readonly string[]): void {
  let node = tree;
  for (const [index, name] of path.entries()) {
    const inside = node.get(name);
    if (inside === true) return;
    if (index === path.length - 1) node.set(name, true);
    else if (inside === undefined) node.set(name, (node = new Map<string, GrowingTree | true>()));
    else node = inside;
  }
}

class NotCanonical extends Error {}

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const point = 0x2e;
const zero = 0x30;
const nine = 0x39;
const colon = 0x3a;
const openArray = 0x5b;
const backslash = 0x5c;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * `undefined` means that the text just read is already canonical. Most of a document is: names, strings, integers, and
 * values made of them in order and without white space. So the spelling is copied from the text in large pieces, not
 * built up from small ones.
 */
type Spelling = string | undefined;

class Reader {
  readonly #text: string;
  #position = 0;
  /** White space skipped so far: a value during whose reading this count grew is not canonical as it is. */
  #spaces = 0;
  /** The last string with escapes, decoded. */
  #decoded = "";

  constructor(text: string) {
    this.#text = text;
  }

  document(fields: FieldTree | undefined): string {
    this.#peek();
    const start = this.#position;
    const spelling = this.#value(0, fields);
    const end = this.#position;
    if (!Number.isNaN(this.#peek())) throw new NotCanonical();
    return spelling ?? this.#text.slice(start, end);
  }

  /** The next character code that is not white space; NaN at the end. */
  #peek(): number {
    let code = this.#text.charCodeAt(this.#position);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      this.#position += 1;
      this.#spaces += 1;
      code = this.#text.charCodeAt(this.#position);
    }
    return code;
  }

  #value(depth: number, fields: FieldTree | undefined): Spelling {
    const code = this.#peek();
    if (code === quote) return this.#string();
    if (code === openObject) return this.#object(depth + 1, fields);
    if (code === openArray) return this.#array(depth + 1);
    if (code === minus || (code >= zero && code <= nine)) return this.#number();
    return this.#literal();
  }

  #object(depth: number, fields: FieldTree | undefined): Spelling {
    if (depth > nestingMax) throw new NotCanonical();
    const spacesBefore = this.#spaces;
    const members = new Members(fields);
    this.#position += 1;
    if (this.#peek() === closeObject) {
      this.#position += 1;
    } else {
      do this.#member(depth, members);
      while (this.#goesOn(closeObject));
    }
    return members.isPlain && this.#spaces === spacesBefore ? undefined : members.spell();
  }

  #member(depth: number, members: Members): void {
    const text = this.#text;
    if (this.#peek() !== quote) throw new NotCanonical();
    const start = this.#position;
    const spacesBefore = this.#spaces;
    const nameSpelling = this.#string();
    const nameEnd = this.#position;
    const name = nameSpelling === undefined ? text.slice(start + 1, nameEnd - 1) : this.#decoded;
    if (this.#peek() !== colon) throw new NotCanonical();
    this.#position += 1;
    this.#peek();
    const valueStart = this.#position;
    const inside = members.inside(name);
    const spelling = this.#value(depth, inside === true ? undefined : inside);
    if (inside === undefined || (inside !== true && spelling === "{}")) return;
    if (nameSpelling === undefined && spelling === undefined && this.#spaces === spacesBefore) {
      members.add(name, text.slice(start, this.#position));
    } else {
      const value = spelling ?? text.slice(valueStart, this.#position);
      members.isPlain = false;
      members.add(name, `${nameSpelling ?? text.slice(start, nameEnd)}:${value}`);
    }
  }

  #array(depth: number): Spelling {
    if (depth > nestingMax) throw new NotCanonical();
    const text = this.#text;
    const spacesBefore = this.#spaces;
    const start = this.#position;
    // The elements up to here are canonical as they stand.
    let plainEnd = start + 1;
    let built: Spelling;
    this.#position += 1;
    if (this.#peek() === closeArray) {
      this.#position += 1;
    } else {
      do {
        this.#peek();
        const elementStart = this.#position;
        const spelling = this.#value(depth, undefined);
        if (built === undefined && spelling === undefined && this.#spaces === spacesBefore) {
          plainEnd = this.#position;
        } else {
          built ??= text.slice(start, plainEnd);
          if (built.length > 1) built += ",";
          built += spelling ?? text.slice(elementStart, this.#position);
        }
      } while (this.#goesOn(closeArray));
    }
    if (built === undefined && this.#spaces === spacesBefore) return undefined;
    return `${built ?? text.slice(start, plainEnd)}]`;
  }

  /** Takes the comma (true) or the end of an object or array (false). */
  #goesOn(close: number): boolean {
    const code = this.#peek();
    this.#position += 1;
    if (code === comma) return true;
    if (code === close) return false;
    throw new NotCanonical();
  }

  #string(): Spelling {
    const text = this.#text;
    let index = this.#position + 1;
    for (;;) {
      const code = text.charCodeAt(index);
      if (code === quote) {
        this.#position = index + 1;
        return undefined;
      }
      if (code === backslash) return this.#escapedString(index);
      // NaN, the end of the text, is not >= either.
      if (!(code >= 0x20)) throw new NotCanonical();
      index += 1;
    }
  }

  #escapedString(from: number): string {
    const text = this.#text;
    const start = this.#position;
    let index = from;
    let code = backslash;
    while (code !== quote) {
      if (!(code >= 0x20)) throw new NotCanonical();
      index += code === backslash ? 2 : 1;
      code = text.charCodeAt(index);
    }
    this.#position = index + 1;
    try {
      this.#decoded = JSON.parse(text.slice(start, this.#position)) as string;
    } catch {
      throw new NotCanonical();
    }
    return JSON.stringify(this.#decoded);
  }

  #number(): Spelling {
    const text = this.#text;
    const start = this.#position;
    let index = start;
    let code = text.charCodeAt(index);
    while ((code >= zero && code <= nine) || code === minus || code === point || isExponentSign(code)) {
      index += 1;
      code = text.charCodeAt(index);
    }
    this.#position = index;
    if (isCanonicalNumber(text, start, index)) return undefined;
    const spelling = canonicalNumber(text.slice(start, index));
    if (spelling === undefined) throw new NotCanonical();
    return spelling;
  }

  #literal(): Spelling {
    for (const word of ["true", "false", "null"]) {
      if (this.#text.startsWith(word, this.#position)) {
        this.#position += word.length;
        return undefined;
      }
    }
    throw new NotCanonical();
  }
}

function isExponentSign(code: number): boolean {
  return code === 0x65 || code === 0x45 || code === 0x2b;
}

/**
 * Whether the text from `start` to `end` is a canonical spelling; decides without copying it. Recognises only the
 * common ones, integers and decimals of moderate length; false says nothing.
 */
export function isCanonicalNumber(text: string, start: number, end: number): boolean {
  const first = text.charCodeAt(start) === minus ? start + 1 : start;
  if (end - first > plainDigitsMax) return false;
  if (text.charCodeAt(first) === zero) {
    if (end - first === 1) return first === start;
    if (text.charCodeAt(first + 1) !== point || text.charCodeAt(first + 2) === zero) return false;
  }
  let points = 0;
  for (let index = first; index < end; index += 1) {
    const code = text.charCodeAt(index);
    if (code === point && index > first) points += 1;
    else if (code < zero || code > nine) return false;
  }
  const last = text.charCodeAt(end - 1);
  return end > first && (points === 0 || (points === 1 && last !== point && last !== zero));
}

/** Up to this many members are sorted by insertion, which is faster for few. */
const insertionMax = 24;

/**
 * Collects the members of one object for its spelling: sorted by name, members of one name in the order sent. Names and
 * spellings are stored separately, since names are compared often and spellings only joined.
 */
class Members {
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
