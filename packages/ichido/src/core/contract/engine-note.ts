/** What an engine tells of itself, and how long stores keep it. */
import type { DurationFigures } from "./duration-figures.ts";

export const engineNoteKeptMs = 86_400_000;
/** How often an engine writes its note. One that was not heard of for three times that is gone. */
export const engineNoteEveryMs = 60_000;
export const engineNoteBytesMax = 16_384;

/** By the name of the operation. What differs between two engines on the same tables is a finding. */
export interface NotedOperation {
  readonly options: Readonly<Record<string, string | number | boolean>>;
  /** How long its handlers took. */
  readonly handled: DurationFigures;
  readonly setsCookies: boolean;
}

export interface NotedStep {
  readonly answered: DurationFigures;
  /** Calls that ended by an exception: nobody knows what became of them. */
  readonly unanswered: DurationFigures;
}

export interface EngineNoteText {
  readonly v: 1;
  /** Host and process, for people. */
  readonly process: string;
  readonly runtime: string;
  readonly release: string;
  readonly options: Readonly<Record<string, string | number | boolean>>;
  readonly operations: Readonly<Record<string, NotedOperation>>;
  readonly steps: Readonly<Record<string, NotedStep>>;
  /** Names of labels and kinds of resources that its records have: what `why` may look for. */
  readonly labels: readonly string[];
  readonly resources: readonly string[];
}
