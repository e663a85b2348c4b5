/** What a run that tried to break a promise leaves behind: a file of data below docs/reference/proof. */
import { writeFileSync } from "node:fs";
import { originNow, type Origin } from "./origin.ts";

/** In the order of the page. */
export const kinds = [
  "simulation",
  "model",
  "chaos",
  "chaos of events",
  "soak",
  "crash matrix",
  "random kills",
  "storms",
  "fuzz",
  "rules undone",
] as const;
export type Kind = (typeof kinds)[number];

const withoutFaults: readonly Kind[] = ["model", "fuzz", "rules undone"];

export interface ProofRun extends Origin {
  readonly kind: Kind;
  /** What it ran on or looked at: a store, a part, a broker. */
  readonly what: string;
  /** How it is run again. */
  readonly command: string;
  /** How many of `unit` were tried: of these the bound is told. */
  readonly tried: number;
  readonly unit: string;
  readonly faults?: number;
  readonly seeds?: string;
  /** What else was counted. */
  readonly counts: Readonly<Record<string, number>>;
  readonly violations: number;
  /** All there are within its bounds were tried, or each is a trial of its own: chance has no part in it. */
  readonly isExhaustive?: boolean;
}

/** Why a run of this kind shows nothing, whatever else it says of itself. */
export function emptyBy({ kind, tried, faults = 0 }: Pick<ProofRun, "kind" | "tried" | "faults">): readonly string[] {
  return [
    ...(tried > 0 ? [] : ["nothing was tried"]),
    ...(faults > 0 || withoutFaults.includes(kind) ? [] : ["no fault was made"]),
  ];
}

type Told = Omit<ProofRun, keyof Origin>;

export function keepRun(file: string, run: Told, origin: Origin): void {
  writeFileSync(file, `${JSON.stringify({ ...run, ...origin }, undefined, 2)}\n`);
}

/** What is run is noted before it is run: the source may be worked on meanwhile. Without a file nothing is kept. */
export function beginRun(file: string | undefined): (run: Told) => void {
  if (file === undefined) return () => {};
  const origin = originNow();
  return (run) => keepRun(file, run, origin);
}
