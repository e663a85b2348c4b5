/**
 * Records in the memory of this process: for tests, development and single-process services that may forget on restart.
 * It is also the reference model of the protocol: `transitions.ts` says what every other store must do.
 *
 * Each verb runs from its first to its last statement without giving way, so a verb is atomic by itself.
 */
import { IchidoError } from "../../core/errors.ts";
import type { Identity } from "../../core/record.ts";
import type { Fenced, Store } from "../../core/store.ts";
import type { TransactionHandle } from "../../core/transaction.ts";
import { landedOf } from "../shared/landed.ts";
import { warnUnlessAlone } from "./alone.ts";
import { list, stats } from "./listing.ts";
import { boundOf, checkNames, clockOf, timersOf, type MemoryStoreOptions } from "./options.ts";
import { copyBytes, toRecord, type Row } from "./row.ts";
import { createShelf, idOf, idOfRow } from "./shelf.ts";
import { isTrusted, ticked, type Ticks } from "./ticks.ts";
import * as transitions from "./transitions.ts";
import type { Answered, Moment } from "./transitions.ts";
import { createWatchers } from "./watchers.ts";

export type { MemoryStoreOptions } from "./options.ts";

/** Records that a sweep removes between two looks at its time budget. */
const sweepStride = 64;

export function memoryStore(options: MemoryStoreOptions = {}): Store {
  checkNames(options);
  const nowMs = clockOf(options.nowMs);
  const shelf = createShelf({
    recordsMax: boundOf("recordsMax", options.recordsMax),
    bytesMax: boundOf("bytesMax", options.bytesMax),
  });
  const watchers = createWatchers(timersOf(options.environment));
  let ticks: Ticks | undefined;
  warnUnlessAlone();

  function moment(): Moment {
    const now = nowMs();
    return { nowMs: now, trusted: isTrusted(ticks, now), fenceFloor: shelf.fenceFloor };
  }

  /** Keeps what a transition made; the same row back means that there is nothing to keep. */
  function keep(before: Row | undefined, after: Row | undefined): void {
    if (after === undefined || after === before) return;
    shelf.put(after);
    // A renewed lease is no news to those who wait for an answer.
    if (after.state !== "processing" || after.leaseEndMs === undefined) watchers.wake(idOfRow(after));
  }

  function apply<Request extends { readonly identity: Identity }>(
    transition: (row: Row | undefined, request: Request, at: Moment) => Answered,
    request: Request,
  ): Fenced {
    const before = shelf.get(request.identity);
    const { row, result } = transition(before, request, moment());
    keep(before, row);
    return result;
  }

  return {
    name: "memory",
    capabilities: {
      durable: false,
      shared: false,
      transactions: false,
      promise: "an acknowledged write lives as long as this process and is seen by this process alone",
    },
    callTimeoutMs: 0,

    async claim(request, transaction) {
      if (transaction !== undefined) throw cannotJoin(transaction);
      const at = moment();
      const before = shelf.get(request.identity);
      if (before === undefined && !shelf.hasRoom(at.nowMs, at.trusted)) return { outcome: "full" };
      const { row, result } = transitions.claim(before, request, { ...at, fenceFloor: shelf.fenceFloor });
      keep(before, row);
      return result;
    },
    renew: async (requests) => requests.map((request) => apply(transitions.renew, request)),
    async complete(request, transaction) {
      if (transaction !== undefined) throw cannotJoin(transaction);
      return apply(transitions.complete, request);
    },
    landed: async (request) => landedOf(shelf.get(request.identity), request),
    release: async (claim) => apply(transitions.release, claim),
    suspend: async (request) => apply(transitions.suspend, request),
    startStep: async (request) => apply(transitions.startStep, request),
    finishStep: async (request) => apply(transitions.finishStep, request),

    async steps(identity) {
      const now = nowMs();
      return (shelf.get(identity)?.steps ?? []).map(
        ({ name, attempt, startedAtMs, lastStartedAtMs, finishedAtMs, result }) => ({
          name,
          state: result === undefined ? "started" : "finished",
          ...(result === undefined ? {} : { result: copyBytes(result) }),
          attempt,
          startedAtMs,
          lastStartedAtMs,
          ageMs: now - lastStartedAtMs,
          firstAgeMs: now - startedAtMs,
          ...(finishedAtMs === undefined ? {} : { finishedAtMs }),
        }),
      );
    },
    async settle(request) {
      const before = shelf.get(request.identity);
      const { row, result } = transitions.settle(before, request, moment());
      keep(before, row);
      return result;
    },
    audit: async (identity) => shelf.get(identity)?.audit ?? [],

    async find(identity) {
      const row = shelf.get(identity);
      return row === undefined ? undefined : toRecord(row, nowMs(), "with bodies");
    },
    list: async (query) => list(shelf.rows(), query, nowMs()),
    stats: async () => stats(shelf.rows(), nowMs()),

    async sweep({ limit, budgetMs }) {
      const at = moment();
      if (!at.trusted) return { deleted: 0, more: false, guarded: true };
      const untilMs = performance.now() + budgetMs;
      let deleted = 0;
      while (deleted < limit && shelf.removeExpired(at.nowMs)) {
        deleted += 1;
        if (deleted % sweepStride === 0 && performance.now() >= untilMs) break;
      }
      return { deleted, more: shelf.hasExpired(at.nowMs), guarded: false };
    },

    async tick(request) {
      const now = nowMs();
      ticks = ticked(ticks, request, now);
      return { trusted: isTrusted(ticks, now) };
    },
    ping: async () => undefined,
    watch: (identity, timeoutMs) => watchers.wait(idOf(identity), timeoutMs),
    async close() {
      watchers.wakeAll();
    },
  };
}

function cannotJoin({ dialect }: TransactionHandle): IchidoError {
  const advice = "leave the handle out, or use a store in the database of the transaction";
  return new IchidoError("option-invalid", `memoryStore cannot join a ${dialect} transaction: ${advice}`);
}
