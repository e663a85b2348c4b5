/** The two clocks of an engine's life: ticks that make expiry trustworthy, and sweeps that reclaim space. */
import { limits } from "../contract/defaults.ts";
import { fraction, type Environment, type Timer } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { SweepResult } from "../contract/store.ts";
import type { StoreCalls } from "./store-calls.ts";

/** After a failed tick the next one comes sooner: until the first success nothing expires. */
const retryTickMs = 1_000;
const sweepBatchesMax = 1_000;
/** Where a sweep ended with more to remove: what is made faster than once in `sweepMs` must not pile up. */
const moreSweepMs = 1_000;

function ignore(): void {}

function sweepDelayMs(environment: Environment, sweepMs: number, isMore: boolean): number {
  return (isMore ? Math.min(moreSweepMs, sweepMs) : sweepMs) * (0.9 + fraction(environment) * 0.2);
}

function intervalFor(retentionMs: number): number {
  return Math.max(1, Math.floor(Math.min(limits.tickMsMax, retentionMs / 4)));
}

export interface Housekeeping {
  /** Ticks; from the first time on ticks and sweeps go on by themselves, also where it rejects. */
  begin(): Promise<void>;
  /** A route with a shorter retention needs ticks that are closer together. */
  tickOftenEnoughFor(retentionMs: number): void;
  sweep(): Promise<SweepResult>;
  readonly clockTrusted: boolean;
  stop(): void;
}

export function createHousekeeping(parts: {
  readonly calls: Pick<StoreCalls, "tick" | "sweep">;
  readonly environment: Environment;
  readonly sweepMs: number | "off";
  readonly retentionMs: number;
  readonly emit: IchidoListener;
}): Housekeeping {
  const { calls, environment, emit } = parts;
  let intervalMs = intervalFor(parts.retentionMs);
  let tickTimer: Timer | undefined;
  let sweepTimer: Timer | undefined;
  let ticking = false;
  let begun = false;
  let clockTrusted = false;
  let stopped = false;

  /** Rejects where the store did not take it: nothing expires until it does. */
  async function tick(): Promise<void> {
    if (ticking || stopped) return;
    ticking = true;
    let nextMs = intervalMs;
    try {
      clockTrusted = (await calls.tick({ intervalMs })).trusted;
    } catch (error) {
      clockTrusted = false;
      nextMs = retryTickMs;
      throw error;
    } finally {
      ticking = false;
      tickTimer?.cancel();
      if (!stopped) tickTimer = environment.after(Math.min(nextMs, intervalMs), tickAgain);
    }
  }

  /** The failing call itself was reported. */
  function tickAgain(): void {
    tick().catch(ignore);
  }

  async function sweep(): Promise<SweepResult> {
    let deleted = 0;
    let result: SweepResult = { deleted: 0, more: false, guarded: false };
    for (let batch = 0; batch < sweepBatchesMax && !stopped; batch += 1) {
      result = await calls.sweep({ limit: limits.sweepBatch, budgetMs: limits.sweepBudgetMs });
      deleted += result.deleted;
      // A sweep under way goes on until there is no more.
      if (!result.more || result.guarded || result.busy === true) break;
    }
    emit({ type: "sweep", deleted, guarded: result.guarded });
    return { ...result, deleted };
  }

  function armSweep(isMore = false): void {
    if (parts.sweepMs === "off" || stopped) return;
    sweepTimer = environment.after(sweepDelayMs(environment, parts.sweepMs, isMore), () => {
      sweep().then(
        ({ more }) => armSweep(more),
        () => armSweep(),
      );
    });
  }

  return {
    begin() {
      if (!begun) armSweep();
      begun = true;
      return tick();
    },
    tickOftenEnoughFor(retentionMs) {
      const needed = intervalFor(retentionMs);
      if (needed >= intervalMs) return;
      intervalMs = needed;
      if (!begun) return;
      tickTimer?.cancel();
      tickAgain();
    },
    sweep,
    get clockTrusted() {
      return clockTrusted;
    },
    stop() {
      stopped = true;
      tickTimer?.cancel();
      sweepTimer?.cancel();
    },
  };
}
