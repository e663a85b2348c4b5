/** Reasons are written by people: what is to be forgotten stands there as a word. */

/** Where words are written without spaces, the next letter may begin another word: `顧客cus_1000の注文`. */
const wordCharacter =
  /(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}])[\p{L}\p{N}_-]/u;

/** As a whole word, or several: `cus_1000` is none of `cus_10001`. */
export function hasWord(text: string, value: string): boolean {
  for (let at = text.indexOf(value); at !== -1; at = text.indexOf(value, at + 1)) {
    const around = [text[at - 1] ?? " ", text[at + value.length] ?? " "];
    if (!around.some((each) => wordCharacter.test(each))) return true;
  }
  return false;
}

export function namesAny(reason: string, values: readonly string[]): boolean {
  return values.some((value) => value !== "" && hasWord(reason, value));
}

/** `find` may tell too many. The number of rows that were emptied. */
export async function emptyReasons(
  values: readonly string[],
  find: (value: string) => Promise<readonly string[]>,
  empty: (reason: string) => Promise<number>,
): Promise<number> {
  let emptied = 0;
  for (const value of values) {
    if (value === "") continue;
    const named = new Set((await find(value)).filter((reason) => hasWord(reason, value)));
    for (const reason of named) emptied += await empty(reason);
  }
  return emptied;
}
