/** What the state of a record means for a request: every one to a protected route, and every `run`, is decided here. */
import { Deadlines } from "../contract/deadlines.ts";
import { limits } from "../contract/defaults.ts";
import { createEngineNotes } from "./engine-notes.ts";
import type { EngineParts } from "./engine-parts.ts";
import { IchidoError } from "../contract/errors.ts";
import { healthOf, type Health } from "./health.ts";
import { createHeartbeat } from "./heartbeat.ts";
import { createClosing } from "./closing.ts";
import type { EngineLeft } from "./drain.ts";
import { createHousekeeping } from "./housekeeping.ts";
import { createLateWrites } from "./late-writes.ts";
import { createLeaseMode } from "./lease-mode.ts";
import { createLife } from "./life.ts";
import { createMeasurements } from "./measurements.ts";
import { optionInvalid } from "../contract/option-checks.ts";
import type { ResolvedRoute, RouteOptions } from "../contract/options.ts";
import { createOwnOutcomes } from "./own-outcomes.ts";
import { createOwners } from "./owner.ts";
import { createReplayCache } from "./replay-cache.ts";
import type { Identity } from "../contract/record.ts";
import type { Ask, Ruling } from "./ruling.ts";
import { createRunning, createSilentHandlers, type CloseBounds } from "./running.ts";
import type { SweepResult } from "../contract/store.ts";
import { createTransactionMode } from "./transaction-mode.ts";
import { engineWideOperation, resolveRoute, type ResolvedEngine } from "./validate-options.ts";

export interface Engine<Native> {
  rule(ask: Ask<Native>): Promise<Ruling>;
  route(options: RouteOptions<Native>): ResolvedRoute<Native>;
  readonly closing: boolean;
  start(): Promise<void>;
  sweep(): Promise<SweepResult>;
  health(): Promise<Health>;
  /** Lets running handlers finish, hands over the rest. The first call decides how long that may take. */
  close(bounds?: CloseBounds): Promise<EngineLeft>;
  /** Writes what this process has to say of a record. False: the store does not take it. */
  writeOwn(identity: Identity): Promise<boolean>;
  /** What closing would have to leave now. */
  leftNow(): EngineLeft;
  /** `health()` says from now on that this process is not ready; everything else goes on. */
  announce(): void;
}

type Made = Pick<EngineParts, "emit" | "isHeard" | "calls" | "answers" | "attemptLog">;

function partsOf(settings: ResolvedEngine<never>, made: Made): EngineParts {
  const { environment, executionMs, replayCache } = settings;
  const afterMs = Math.min(limits.handlerSilentMs, executionMs / 2);
  const running = createRunning(environment);
  const lateWrites = createLateWrites({ environment, executionMs });
  return {
    ...made,
    settings,
    newOwner: createOwners(environment),
    running,
    silentHandlers: createSilentHandlers({ environment, emit: made.emit, executionMs, afterMs }),
    heartbeat: createHeartbeat({ calls: made.calls, environment, executionMs }),
    lateWrites,
    ownOutcomes: createOwnOutcomes({ environment, running, lateWrites, timeoutMs: settings.storeTimeoutMs }),
    measurements: createMeasurements(),
    replays: replayCache === undefined ? undefined : createReplayCache({ environment, ...replayCache }),
    bodies: new Deadlines(environment, settings.transactionMs),
  };
}

function checkMode(mode: "lease" | "transaction", { transactions, store }: ResolvedEngine<never>): void {
  if (mode === "lease") return;
  if (transactions === undefined) {
    throw optionInvalid("mode", '"transaction" only beside the engine\'s option transactions', mode);
  }
  if (store.capabilities.transactionMode !== true) {
    throw optionInvalid("mode", `"lease" with the ${store.name} store, which cannot claim inside a transaction`, mode);
  }
}

export function createEngine<Native>(settings: ResolvedEngine<Native>, made: Made): Engine<Native> {
  const { emit, calls } = made;
  const { environment, sweepMs, transactions } = settings;
  const parts = partsOf(settings, made);
  const { running, silentHandlers, replays, measurements } = parts;
  const leaseMode = createLeaseMode(parts);
  const transactionMode = transactions === undefined ? undefined : createTransactionMode(parts, transactions);
  const { retentionMs } = resolveRoute(settings.shared, { operation: engineWideOperation });
  const housekeeping = createHousekeeping({ calls, environment, emit, sweepMs, retentionMs });
  const notes = createEngineNotes({ calls, settings, measurements });
  const life = createLife({ calls, housekeeping, notes, emit });
  let warnedRetention = false;
  const stops = [parts.lateWrites, calls, parts.heartbeat, housekeeping, notes, silentHandlers];
  const closing = createClosing(parts, transactionMode, stops);

  function noteRetention(retentionMs: number): void {
    housekeeping.tickOftenEnoughFor(retentionMs);
    if (warnedRetention || retentionMs >= limits.retentionMsAdvised) return;
    warnedRetention = true;
    const message = `retentionMs ${retentionMs} is below 24 hours: a retry that comes later than that runs again`;
    life.warn("short-retention", message);
  }
  noteRetention(retentionMs);

  function follow(ask: Ask<Native>, ruling: Ruling): void {
    if (ruling.kind === "execute") silentHandlers.watch(ruling.execution);
    else if (ruling.kind === "replay" && ruling.expiresInMs !== undefined) {
      replays?.put(ask, ruling.stored, ruling.expiresInMs);
    }
  }

  return {
    async rule(ask) {
      life.begin();
      const cached = replays?.get(ask);
      if (cached !== undefined) return { kind: "replay", stored: cached, waited: false };
      const mode = ask.route.mode === "transaction" ? (transactionMode ?? leaseMode) : leaseMode;
      running.rulingBegins();
      try {
        const ruling = await mode.rule(ask);
        follow(ask, ruling);
        return ruling;
      } finally {
        running.rulingEnds();
      }
    },
    route(options) {
      const route = resolveRoute(settings.shared, options);
      checkMode(route.mode, settings);
      noteRetention(route.retentionMs);
      measurements.routed(route);
      return route;
    },
    get closing() {
      return running.isClosing;
    },
    start() {
      if (running.isClosing) return Promise.reject(new IchidoError("engine-closed", "start: this engine was closed"));
      return life.start();
    },
    sweep() {
      replays?.clear();
      return housekeeping.sweep();
    },
    health: () =>
      healthOf(settings.store, calls, () => ({
        running: running.size + (transactionMode?.running ?? 0),
        waiting: leaseMode.waiting,
        clockTrusted: housekeeping.clockTrusted,
        closing: running.isClosing,
        draining: closing.isAnnounced,
      })),
    close: (bounds = { closeMs: settings.closeMs, handOverMs: settings.closeMs }) => closing.close(bounds),
    writeOwn: (identity) => parts.ownOutcomes.write(identity),
    leftNow: () => closing.leftNow(),
    announce: () => closing.announce(),
  };
}
