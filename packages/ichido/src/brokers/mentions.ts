/** Whether an event tells of one of these values: for erasing what is known of a person. */

interface Told {
  readonly key?: string | undefined;
  /** Everything but the payload, as JSON. */
  readonly envelope: string;
  readonly payload: Uint8Array;
  readonly error?: string | undefined;
}

/** Shorter ones count only where they stand alone: `42` is a part of too much. */
const partLengthMin = 6;

/** Where words are written without spaces, the next letter may begin another word: `顧客cus_1000の注文`. */
const wordCharacter =
  /(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}])[\p{L}\p{N}_-]/u;

function isPart(text: string, value: string): boolean {
  return text === value || (value.length >= partLengthMin && hasWord(text, value));
}

/** As a whole word, or several: `cus_1000` is none of `cus_10001`. */
function hasWord(text: string, value: string): boolean {
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
    const around = [text[at - 1] ?? " ", text[at + value.length] ?? " "];
    if (!around.some((each) => wordCharacter.test(each))) return true;
  }
  return false;
}

function tells(found: unknown, value: string): boolean {
  if (typeof found === "string") return isPart(found, value);
  if (typeof found === "number") return String(found) === value;
  if (typeof found !== "object" || found === null) return false;
  return Object.entries(found).some(([name, each]) => name === value || tells(each, value));
}

/** A value as it is, where it is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function mentions({ key, envelope, payload, error }: Told, values: readonly string[]): boolean {
  const told = [key, parsed(envelope), parsed(new TextDecoder().decode(payload)), error];
  return values.some((value) => value !== "" && told.some((each) => tells(each, value)));
}

/** Reasons are written by people: what is to be forgotten stands there as a word. The number of rows that were emptied. */
export async function emptyReasons(
  values: readonly string[],
  find: (value: string) => Promise<readonly string[]>,
  empty: (reason: string) => Promise<number>,
): Promise<number> {
  let emptied = 0;
  for (const value of values) {
    for (const reason of await find(value)) if (hasWord(reason, value)) emptied += await empty(reason);
  }
  return emptied;
}
