/** What `simulation/main.ts` is told: whatever it cannot heed is refused, since a run without it proves something else. */

/** `--seeds 1e3` and `--seed x` are slips; a seed is exact only as far as whole numbers are. */
export function wholeNumber(name: string, text: string, min: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value) && value >= min) return value;
  throw new RangeError(`--${name}: expected a whole number from ${min} on, got ${JSON.stringify(text)}`);
}

/** Ways of playing, by the option that chooses them; the first that is given. What each of them heeds. */
const heeded: readonly (readonly [string, readonly string[]])[] = [
  ["seed", ["part", "ignore", "whole", "quiet"]],
  ["turns", ["part", "seeds", "from", "quiet"]],
  ["workers", ["part", "seeds", "from", "all", "summary", "json", "quiet"]],
  ["seeds", ["part", "from", "all", "ignore", "twice", "tell", "json", "quiet"]],
];

export function refuseUnheeded(given: readonly string[]): void {
  const way = heeded.find(([name]) => given.includes(name)) ?? heeded.at(-1);
  if (way === undefined) return;
  const [name, others] = way;
  const unheeded = given.filter((option) => option !== name && !others.includes(option));
  if (unheeded.length === 0) return;
  const listed = (options: readonly string[]): string => options.map((option) => `--${option}`).join(", ");
  throw new RangeError(`--${name}: expected beside it ${listed(others)}, got ${listed(unheeded)}`);
}
