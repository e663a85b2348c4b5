/**
 * Counts the characters that string functions, regular expressions and JSON look at while some work is done: a law of
 * cost that no busy machine can break. A regular expression counts for what it passed over, and one that is tried at one
 * place in vain for one; that it does not go back and forth inside is for its author to see.
 */
type Counter = (result: unknown, self: string, args: readonly unknown[]) => number;

/** Pieces of a string are linked, not copied, from this length on. */
const linkedFrom = 13;

const passed: Counter = (result, self, args) => {
  const from = typeof args[1] === "number" ? args[1] : 0;
  return 1 + (typeof result === "number" && result >= 0 ? result - from : Math.max(0, self.length - from));
};
const whole: Counter = (_, self) => 1 + self.length;
const piece: Counter = (result) => 1 + Math.min(linkedFrom, String(result).length);

const counters: Readonly<Record<string, Counter>> = {
  charCodeAt: () => 1,
  startsWith: (_result, _self, [start]) => 1 + String(start).length,
  indexOf: passed,
  slice: piece,
  includes: whole,
  split: whole,
  trim: whole,
  replace: whole,
  replaceAll: whole,
  matchAll: whole,
  toLowerCase: whole,
};

export function charactersRead(work: () => unknown): number {
  let count = 0;
  const undo: (() => void)[] = [];
  function patch(
    owner: object,
    name: string,
    counted: (result: unknown, self: unknown, args: unknown[]) => number,
  ): void {
    const methods = owner as Record<string, (...args: unknown[]) => unknown>;
    const original = methods[name] as (...args: unknown[]) => unknown;
    methods[name] = function (this: unknown, ...args: unknown[]) {
      const result = original.apply(this, args);
      count += counted(result, this, args);
      return result;
    };
    undo.push(() => void (methods[name] = original));
  }
  for (const [name, counter] of Object.entries(counters)) {
    patch(String.prototype, name, (result, self, args) => counter(result, self as string, args));
  }
  patch(JSON, "parse", (_, _self, [text]) => (text as string).length);
  patch(JSON, "stringify", (result) => String(result).length);
  patch(RegExp.prototype, "exec", (match, self, [text]) => {
    if (match !== null) return 1 + (match as RegExpExecArray)[0].length;
    return (self as RegExp).sticky ? 1 : 1 + String(text).length;
  });
  try {
    work();
  } finally {
    for (const each of undo) each();
  }
  return count;
}

/** Bytes that are put together anew. */
export async function bytesCopied(work: () => Promise<unknown>): Promise<number> {
  const concat = Buffer.concat.bind(Buffer);
  let count = 0;
  Buffer.concat = (list, length) => {
    const made = concat(list, length);
    count += made.length;
    return made;
  };
  try {
    await work();
  } finally {
    Buffer.concat = concat;
  }
  return count;
}
