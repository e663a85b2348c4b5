import { createAnswers } from "./answers.ts";
import { createAttemptLog } from "./attempt-log.ts";
import { lendLink } from "./console-link.ts";
import type { Context } from "../contract/context.ts";
import { defaults } from "../contract/defaults.ts";
import { createDecider } from "./decide.ts";
import { drain, resolveDrain, type DrainOptions, type DrainReport } from "./drain.ts";
import { createEngine } from "./engine.ts";
import { createListeners } from "../contract/listeners.ts";
import type { IchidoEvent, IchidoListener } from "../contract/events.ts";
import { levelOf } from "./log-levels.ts";
import { logsTo } from "../contract/logger.ts";
import type { Health } from "./health.ts";
import type { Decider, IchidoOptions, Probe } from "../contract/options.ts";
import { createRefusals } from "./refusals.ts";
import { warnUser } from "../contract/runtime.ts";
import { run, type RunParts, type RunRequest, type RunResult } from "./run.ts";
import type { ScopeLike } from "../contract/record.ts";
import type { Store, StoredRecord, SweepResult } from "../contract/store.ts";
import { createStoreCalls } from "./store-calls.ts";
import { lendCalls } from "./store-holder.ts";
import { resolveEngine } from "./validate-options.ts";

/** `Tx` is what its `transactions` open, for `ctx.transaction`. */
export interface Ichido<Native = unknown, Tx = unknown> extends Decider<Native, Tx> {
  readonly store: Store;
  /** How refusals look, and whose keys are kept apart; the published policy repeats it. */
  readonly published: {
    readonly problemBase: string;
    readonly docsUrl: string | undefined;
    /** All callers share one key space (`dangerouslyShareKeys`). */
    readonly sharedKeys: boolean;
  };
  /** How providers are asked, as the option says. */
  readonly probes: Readonly<Record<string, Probe>>;
  /** How far apart keys with the same content may be and stand for one intent, as the option of `attemptLog` says. */
  readonly suspectWithinMs: number;
  /** Runs `fn` once per key: the second call gets the stored value. The value must be plain JSON. */
  run<Value>(request: RunRequest, fn: (context: Context<Tx>) => Value | Promise<Value>): Promise<RunResult<Value>>;
  /** The record behind the `operationId` of a 202, for its owner alone: another scope finds nothing. */
  findOperation(operationId: string, scope: ScopeLike): Promise<StoredRecord | undefined>;
  /**
   * Checks what a claim needs (schema and its version, rights, the server's settings), then starts ticks and sweeps. Rejects
   * with the cause and what to do about it. Without it the first request does the same, and a failure is a warning.
   */
  start(): Promise<void>;
  /** Removes what has expired; also runs by itself every `sweepMs`. For cron: `sweepMs: "off"` and call this. */
  sweep(): Promise<SweepResult>;
  health(): Promise<Health>;
  /** Lets running handlers finish (bounded), hands over the rest, stops the timers. The store stays open: it is yours. */
  close(): Promise<void>;
  /**
   * The end of a process by one deadline: `health()` turns first, then `parts` stop, running handlers may finish, what is
   * left is handed over, and `last` stops. Never rejects because of what hangs: the report says what was left. A second
   * call gets the report of the first.
   */
  drain(options?: DrainOptions): Promise<DrainReport>;
  /** Adds a listener; returns its removal. */
  on(listener: IchidoListener): () => void;
}

function listenerFailed(error: unknown): void {
  warnUser(`an ichido listener failed: ${String(error)}`);
}

function isPart(stored: string | undefined, given: string | number | bigint | undefined): boolean {
  return stored === (given === undefined ? undefined : String(given));
}

export function createIchido<Native = unknown, Tx = unknown>(options: IchidoOptions<Native, Tx>): Ichido<Native, Tx> {
  const settings = resolveEngine(options);
  const { logger } = settings;
  const logs = logger === undefined ? undefined : logsTo(logger, "engine", levelOf);
  const listeners = createListeners<IchidoEvent>("engine", [settings.onEvent, logs], listenerFailed);

  function emit(event: IchidoEvent): void {
    // Listeners added later count and trace; only `onEvent` and `logger` take the warnings over.
    const isSaid = settings.onEvent !== undefined || logger !== undefined;
    if (event.type === "warning" && !isSaid) warnUser(event.message, event.code);
    listeners.emit(event);
  }

  const isHeard = (): boolean => listeners.isHeard;

  const { environment, faults, link, scope, store, tracing } = settings;
  const calls = createStoreCalls({ store, environment, timeoutMs: settings.storeTimeoutMs, emit, isHeard, faults });
  const refusals = createRefusals(settings.format, settings.operationIds);
  const answers = createAnswers({ calls, refusals, emit });
  const attemptLog =
    settings.attemptLog === undefined
      ? undefined
      : createAttemptLog({ calls, environment, emit, settings: settings.attemptLog });
  const engine = createEngine(settings, { emit, isHeard, calls, answers, attemptLog });
  const askedBy = settings.attemptLog?.askedBy;
  const decider = createDecider({
    scope,
    askedBy,
    environment,
    tracing,
    emit,
    isHeard,
    link,
    refusals,
    answers,
    attemptLog,
    engine,
  });
  let drained: Promise<DrainReport> | undefined;
  const parts: RunParts = { engine, environment, tracing, emit, isHeard, attemptLog, link };
  const ichido: Ichido<Native> = {
    store,
    published: {
      problemBase: settings.format.problemBase,
      docsUrl: settings.format.docsUrl,
      sharedKeys: settings.scope === undefined,
    },
    probes: options.probes ?? {},
    suspectWithinMs: settings.attemptLog?.suspectWithinMs ?? defaults.suspectWithinMs,
    ...decider,
    run: (request, fn) => run(parts, request, fn),
    async findOperation(operationId, { tenant, principal }) {
      const opened = settings.operationIds.open(operationId, { tenant, principal });
      if (opened === undefined) return undefined;
      const record = await calls.find({ ...opened, tenant: undefined, principal: undefined, operation: "" });
      const { identity } = record ?? {};
      return identity !== undefined && isPart(identity.tenant, tenant) && isPart(identity.principal, principal)
        ? record
        : undefined;
    },
    start: () => engine.start(),
    sweep: () => engine.sweep(),
    health: () => engine.health(),
    close: async () => void (await engine.close()),
    async drain(drainOptions = {}) {
      const wanted = resolveDrain(drainOptions);
      drained ??= drain(
        {
          environment,
          emit,
          announce: () => engine.announce(),
          closeEngine: (bounds) => engine.close(bounds),
          leftNow: () => engine.leftNow(),
        },
        wanted,
      );
      return drained;
    },
    on: (listener) => listeners.on(listener),
  };
  lendCalls(ichido, engine, calls, emit);
  lendLink(ichido, link);
  return ichido;
}
