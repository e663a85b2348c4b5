/**
 * Finds records whose outcome is unknown and asks the outside world what became of them, so that callers need not come
 * back for it. Any number of processes may run one: a record is taken under a fence before anything is asked about it, and
 * no caller waits while it is asked. What it decides goes through `settle`, and so into the audit.
 *
 * Left alone: records on hold, which wait for a person, and operations that it has no entry for. A hold that a person
 * makes while a look is under way stands, whenever it comes: the claim does not take the record, and a decision made before
 * does not take effect on it. While `verify` is under way `settle` answers the person with `live`.
 */
import { linkOf } from "./console-link.ts";
import { withDeadline } from "../contract/deadline.ts";
import { fraction, type Timer } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import { tell } from "../contract/listener.ts";
import { createNextLooks } from "./next-looks.ts";
import { createOwners } from "./owner.ts";
import { resolveReconciler, type ReconcilerOptions } from "./reconciler-options.ts";
import { createReconciliation, type Reconciled, type Reconciliation, type ReconcilerReport } from "./reconciliation.ts";
import { keyHashOf } from "../request/scope.ts";
import type { StoredRecord } from "../contract/store.ts";
import { callsOf, emitOf, type HeldCalls, type StoreHolder } from "./store-holder.ts";

export interface Reconciler {
  start(): void;
  /**
   * Takes no further record, and resolves when the one under way is decided: after `drainMs` at the latest. What is then
   * still asked about is left to its lease. Default 15 000.
   */
  stop(options?: { readonly drainMs?: number }): Promise<void>;
  /** One bounded look, for tests, cron and serverless. A second call joins the first. */
  tick(): Promise<ReconcilerReport>;
}

type Work = Reconciliation & { readonly calls: HeldCalls };

/** Longer than `verify` may take by default. */
const drainMsDefault = 15_000;

/** After these the outcome is open as it was. */
const staysOpen: readonly Reconciled[] = ["held", "waiting", "failed"];

function ignore(): void {}

export function createReconciler(holder: StoreHolder, options: ReconcilerOptions): Reconciler {
  const settings = resolveReconciler(options);
  const { environment, everyMs } = settings;
  const emit: IchidoListener = (event) => {
    tell(settings.onEvent, event);
    // Somebody who has a listener for warnings here would hear of them twice.
    if (event.type !== "warning" || settings.onEvent === undefined) emitOf(holder)?.(event);
  };
  const looks = createNextLooks(settings);
  const newOwner = createOwners(environment);
  /** Until it is stopped: its look takes no further record then, and lost claims are looked for no longer. */
  let work: Work | undefined = open();
  /** Where the last look stopped, by operation: a long list is walked over several looks. */
  const cursors = new Map<string, string>();
  let timer: Timer | undefined;
  let running: { readonly look: Promise<ReconcilerReport>; readonly work: Work } | undefined;
  let stopped = true;

  function open(): Work {
    const calls = callsOf(holder, { environment, emit });
    return { calls, ...createReconciliation({ settings, calls, looks, newOwner, emit }) };
  }

  async function look(on: Work): Promise<ReconcilerReport> {
    const report: Record<Reconciled, number> = {
      adopted: 0,
      released: 0,
      held: 0,
      waiting: 0,
      overtaken: 0,
      failed: 0,
    };
    looks.forgetOld();
    let left = settings.batchMax;
    for (const operation of Object.keys(settings.operations)) {
      for (const record of left > 0 && work === on ? await openRecords(on.calls, operation, left) : []) {
        if (work !== on) return report;
        left -= 1;
        const outcome = await on.reconcileSafely(record);
        report[outcome] += 1;
        const { identity } = record;
        const linked = staysOpen.includes(outcome) ? linkOf(holder).linked(identity) : {};
        emit({ type: "reconciled", operation: identity.operation, keyHash: keyHashOf(identity), outcome, ...linked });
      }
    }
    return report;
  }

  async function openRecords(calls: HeldCalls, operation: string, limit: number): Promise<readonly StoredRecord[]> {
    const from = cursors.get(operation);
    const { records, cursor } = await calls.list({
      operation,
      state: "unknown",
      limit: Math.min(limit * 4, 1_000),
      ...(from === undefined ? {} : { cursor: from }),
    });
    if (cursor === undefined) cursors.delete(operation);
    else cursors.set(operation, cursor);
    return records.filter((record) => looks.isDue(record)).slice(0, limit);
  }

  function tick(): Promise<ReconcilerReport> {
    if (running === undefined) {
      work ??= open();
      const ended = look(work).finally(() => {
        running = undefined;
      });
      running = { look: ended, work };
    }
    return running.look;
  }

  function schedule(): void {
    if (stopped) return;
    timer?.cancel();
    timer = environment.after(everyMs * (0.75 + fraction(environment) / 2), () => {
      tick()
        .catch((error: unknown) => {
          const message = "the records in doubt could not be listed; they are looked for again";
          emit({ type: "warning", code: "reconcile-failed", message, error });
        })
        .finally(schedule);
    });
  }

  return {
    start() {
      if (!stopped) return;
      stopped = false;
      schedule();
    },
    async stop({ drainMs = drainMsDefault } = {}) {
      stopped = true;
      timer?.cancel();
      // A start meanwhile gets calls of its own.
      const stopping = work;
      work = undefined;
      if (running !== undefined) {
        const underWay = running;
        await withDeadline(environment, drainMs, () => underWay.look)
          .catch(() => underWay.work.handBack())
          .catch(ignore);
      }
      stopping?.calls.stop();
    },
    tick,
  };
}
