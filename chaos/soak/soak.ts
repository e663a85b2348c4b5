/**
 * For hours: round after round of a run on the same store, servers and desk. What is judged is forgotten, so that
 * nothing grows but what leaks: memory and store are measured after every round.
 */
import { originNow } from "../../scripts/proof/origin.ts";
import { reportOf, holds as reportHolds, type Report } from "../report.ts";
import { progressOf } from "../run.ts";
import type { StoreName } from "../setup.ts";
import { Stage, type StageOptions } from "../stage.ts";
import { footprintOf, grownBy, type Footprint } from "./footprint.ts";

export interface SoakOptions {
  readonly store: StoreName;
  readonly minutes: number;
  readonly seed: number;
  readonly servers?: number;
  readonly callers?: number;
  readonly pace?: number;
  readonly restMs?: number;
  /** Ends after the round under way. */
  readonly signal?: AbortSignal;
  readonly progress: (line: string) => void;
  /** What it comes to so far, after every round. */
  readonly told: (report: SoakReport) => void;
}

export interface SoakReport extends Report {
  readonly minutes: number;
  readonly rounds: number;
  readonly footprints: readonly Footprint[];
  /** What takes up more than it may. */
  readonly grown: readonly string[];
}

const roundMs = 100_000;
const progressMs = 10_000;
/**
 * Longer than a round and its end, so that nothing expires that is still asked for. An engine ticks every minute, and
 * trusts a clock that ran evenly for three: it leaps in one round of three.
 */
const retentionMs = 600_000;
const leapEvery = 3;
/** Others may have the machine for a while. */
const slackMs = 20_000;

/** One round; tells how long it took to settle. */
async function round(stage: Stage, number: number, signal: AbortSignal | undefined): Promise<number> {
  const endMs = performance.now() + roundMs;
  const isOver = (): boolean => performance.now() >= endMs || signal?.aborted === true;
  await stage.storm(isOver, number % leapEvery === 1 ? [] : ["clock-store"]);
  const settledMs = await stage.settle();
  // The banks will forget what they would have recognised.
  await stage.fleet.idle();
  return settledMs;
}

/** Tells how many records there are. */
async function judgeAndForget(stage: Stage): Promise<number> {
  const told = await stage.judge();
  stage.history.operations = [];
  await stage.desk.forget(told);
  await stage.banks.renew();
  await stage.backend.tidy?.();
  return told.records.length;
}

export const holds = (report: SoakReport): boolean => reportHolds(report) && report.grown.length === 0;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { store, minutes, seed, servers = 3, callers = 6, pace = 3, restMs = 400, progress, signal } = options;
  const origin = originNow();
  const load = { servers, callers, pace, restMs };
  const staged: StageOptions = { store, seed, control: "none", ...load, veterans: 1, slackMs, retentionMs };
  const stage = await Stage.open(staged);
  const { history, tally, kinds } = stage;
  const ticking = setInterval(() => progress(progressOf(history, tally)), progressMs);
  const footprints: Footprint[] = [];
  let settledMs = 0;
  let rounds = 0;
  const told = (): SoakReport => {
    const { seconds } = tally;
    const parts = { options: { store, seed, control: "none", seconds }, origin, history, tally, kinds } as const;
    const report = reportOf({ ...parts, seconds, settledMs });
    const ran = Math.round(seconds / 6) / 10;
    return { ...report, minutes: ran, rounds, footprints, grown: grownBy(footprints) };
  };
  try {
    while (tally.seconds < minutes * 60 && signal?.aborted !== true) {
      rounds += 1;
      settledMs = Math.max(settledMs, await round(stage, rounds, signal));
      const footprint = await footprintOf(stage, await judgeAndForget(stage));
      footprints.push(footprint);
      progress(`round ${rounds}: ${JSON.stringify(footprint)}`);
      options.told(told());
    }
    return told();
  } finally {
    clearInterval(ticking);
    await stage.close();
  }
}
