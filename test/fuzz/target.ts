/** A kind of hostile input: drawn from a seed, given to the code, and what must hold of the answer. */
import { mixed, createRandom, type Random } from "../../simulation/random.ts";

export type { Random };

export interface Trial {
  /** One input. Throws `Broken` where a promise does not hold; anything else that it throws counts as much. */
  readonly attempt: (random: Random) => void | Promise<void>;
  readonly close?: () => Promise<void> | void;
}

export interface Target {
  readonly name: string;
  /** What must hold, for the title of its test. */
  readonly promise: string;
  /** Inputs in the test command. */
  readonly inputs: number;
  /** A server that the inputs are tried on; `open` gets its address. */
  readonly needs?: "postgres" | "redis";
  readonly open: (url: string) => Trial | Promise<Trial>;
}

export class Broken extends Error {
  override readonly name = "Broken";
}

export function must(holds: boolean, what: string, ...shown: readonly unknown[]): asserts holds {
  if (!holds) throw new Broken([what, ...shown.map(shownOf)].join(" "));
}

const shownLengthMax = 300;

function shownOf(value: unknown): string {
  const text = value instanceof Uint8Array ? JSON.stringify(Buffer.from(value).toString("latin1")) : plain(value);
  return text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}… (${text.length})` : text;
}

function plain(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return JSON.stringify(value, (_, each: unknown) => (typeof each === "bigint" ? String(each) : each)) ?? String(value);
}

export interface Found {
  readonly seed: number;
  readonly detail: string;
}

export interface Run {
  readonly inputs: number;
  readonly found: Found | undefined;
}

const wordOf = (name: string): number => mixed(...Buffer.from(name));

/** Tries inputs one after the other, up to the first that breaks something. The same seed is the same input. */
export async function runTarget(
  target: Target,
  { url = "", from = 1, inputs = target.inputs }: { url?: string; from?: number; inputs?: number },
  onInput?: (done: number) => void,
): Promise<Run> {
  const word = wordOf(target.name);
  const trial = await target.open(url);
  let seed = from;
  try {
    for (; seed < from + inputs; seed += 1) {
      const trying = trial.attempt(createRandom(word, seed));
      if (trying !== undefined) await trying;
      onInput?.(seed - from + 1);
    }
    return { inputs, found: undefined };
  } catch (error) {
    const detail = error instanceof Broken ? error.message : `threw ${shownOf(error)}`;
    return { inputs: seed - from + 1, found: { seed, detail: detail.replaceAll("\n", "\\n") } };
  } finally {
    await trial.close?.();
  }
}
