/**
 * The end of a process, in an order that doubles no effect and loses no answer: readiness turns, what brings work in
 * stops, what runs may finish, what is left is handed over, and what sends events goes last. One deadline for all of it.
 */
import { integerOption, knownOptions, optionInvalid } from "../contract/option-checks.ts";
import { DeadlineExceeded, sleep, withDeadline } from "../contract/deadline.ts";
import type { Environment } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";

/** A relay, a consumer, a reconciler, `fromServer(server)`, or whatever can be told to stop. */
export interface DrainPart {
  /** Takes no more, and resolves when what runs has ended, after `drainMs` at the latest. */
  stop(options: { readonly drainMs: number }): Promise<unknown>;
  /** How much it has in its hands, for the report. */
  health?(): { readonly inFlight?: number };
}

export interface DrainOptions {
  /** From the call until `drain` resolves, whatever hangs. Default 20 000: well within what Kubernetes waits. */
  readonly deadlineMs?: number;
  /**
   * How long work is still taken after `health()` says that this process is not ready: for load balancers that have not
   * heard of it yet. Part of the deadline. Default 0.
   */
  readonly announceMs?: number;
  /** What brings work in, by names of your own: servers, consumers, reconcilers. They stop together, first. */
  readonly parts?: Readonly<Record<string, DrainPart>>;
  /** What stops after the last handler: the relays that send its events. */
  readonly last?: Readonly<Record<string, DrainPart>>;
}

/** A handler that outlasted its time. Its record was left to `onUnknown`. */
export interface LeftHandler {
  readonly operation: string;
  readonly keyHash: string;
  readonly attempt: number;
  readonly runningMs: number;
}

export interface DrainedPart {
  readonly name: string;
  /** `late`: its time was up before it had ended. `failed`: `stop` rejected. */
  readonly state: "ended" | "late" | "failed";
  /** What it had in its hands when its time was up. */
  readonly inFlight: number;
  readonly error?: unknown;
}

export interface DrainReport {
  /** Nothing was left. */
  readonly clean: boolean;
  readonly tookMs: number;
  readonly handlers: readonly LeftHandler[];
  /** Transactions of handlers that were still open: their database undoes them when the process ends. */
  readonly transactions: number;
  readonly parts: readonly DrainedPart[];
}

/** What a closed engine had to leave. */
export type EngineLeft = Pick<DrainReport, "handlers" | "transactions">;

export const drainDefaults = { deadlineMs: 20_000, announceMs: 0 } as const;

const dayMs = 86_400_000;
/** Kept of the deadline for handing over what did not finish: a few calls of the store. */
const handOverPart = 0.2;
const handOverMsMax = 3_000;
/** So much before a part cuts what it has left, it is asked how much that is. */
const askMs = 30;

export function resolveDrain(options: DrainOptions): Required<DrainOptions> {
  knownOptions("ichido.drain", options, { deadlineMs: true, announceMs: true, parts: true, last: true });
  const deadlineMs = integerOption("deadlineMs", options.deadlineMs ?? drainDefaults.deadlineMs, 10, dayMs);
  const announceMs = integerOption("announceMs", options.announceMs ?? drainDefaults.announceMs, 0, deadlineMs);
  const { parts = {}, last = {} } = options;
  for (const [place, group] of Object.entries({ parts, last })) {
    for (const [name, part] of Object.entries(group)) {
      if (typeof part?.stop === "function") continue;
      throw optionInvalid(`${place}.${name}`, "a relay, a consumer, a reconciler or fromServer(server)", part);
    }
  }
  return { deadlineMs, announceMs, parts, last };
}

export interface DrainParts {
  readonly environment: Environment;
  readonly emit: IchidoListener;
  /** From here on `health()` says that this process is not ready. */
  readonly announce: () => void;
  /** Lets handlers finish for `closeMs`, then hands over, for `handOverMs` at most. */
  readonly closeEngine: (bounds: { readonly closeMs: number; readonly handOverMs: number }) => Promise<EngineLeft>;
  /** What would be left now. */
  readonly leftNow: () => EngineLeft;
}

export async function drain(engine: DrainParts, settings: Required<DrainOptions>): Promise<DrainReport> {
  const { environment, emit } = engine;
  const { deadlineMs, announceMs, parts, last } = settings;
  const startedMs = environment.monotonicMs();
  const leftMs = (): number => Math.max(0, Math.floor(startedMs + deadlineMs - environment.monotonicMs()));
  const handOverMs = Math.min(handOverMsMax, Math.ceil(deadlineMs * handOverPart));
  const finishMs = (): number => Math.max(0, leftMs() - handOverMs);

  /** `boundMs`: how long it is waited for, with what it hands back and writes down after `drainMs`. */
  async function stopOne(name: string, part: DrainPart, drainMs: number, boundMs: number): Promise<DrainedPart> {
    let cut: { readonly inFlight: number; readonly isKnown: boolean } | undefined;
    const look = (): void => {
      let inFlight: number | undefined;
      try {
        inFlight = part.health?.().inFlight;
      } catch {
        // How much it has is not known; that it must stop is.
      }
      cut = { inFlight: inFlight ?? 0, isKnown: inFlight !== undefined };
    };
    const watch = environment.after(Math.max(0, drainMs - askMs), look);
    try {
      await withDeadline(environment, boundMs, () => part.stop({ drainMs }));
      const isLate = cut !== undefined && (cut.inFlight > 0 || !cut.isKnown);
      return { name, state: isLate ? "late" : "ended", inFlight: cut?.inFlight ?? 0 };
    } catch (error) {
      if (cut === undefined) look();
      const inFlight = cut?.inFlight ?? 0;
      if (error instanceof DeadlineExceeded) return { name, state: "late", inFlight };
      return { name, state: "failed", inFlight, error };
    } finally {
      watch.cancel();
    }
  }

  function stopAll(group: DrainOptions["parts"] & object, drainMs: number, boundMs: number): Promise<DrainedPart[]> {
    return Promise.all(Object.entries(group).map(([name, part]) => stopOne(name, part, drainMs, boundMs)));
  }

  engine.announce();
  if (announceMs > 0) await sleep(environment, announceMs);
  const first = await stopAll(parts, finishMs(), finishMs() + handOverMs / 2);
  const left = await withDeadline(environment, leftMs(), () =>
    engine.closeEngine({ closeMs: finishMs(), handOverMs: Math.min(handOverMs, leftMs()) }),
  ).catch(() => engine.leftNow());
  const sent = await stopAll(last, Math.floor(leftMs() / 2), leftMs());
  const all = [...first, ...sent];
  const clean = left.handlers.length + left.transactions === 0 && all.every(({ state }) => state === "ended");
  const report: DrainReport = { clean, tookMs: environment.monotonicMs() - startedMs, ...left, parts: all };
  emit({
    type: "drained",
    clean,
    tookMs: report.tookMs,
    handlers: left.handlers.length,
    transactions: left.transactions,
  });
  return report;
}
