/**
 * Settles what is open while nobody asks for it (ADR-010). It works from the keys' records: whose answer is missing, and
 * whether an interim answer was given. A record is not claimed meanwhile, so callers go on getting the interim answer;
 * its fence keeps a late shop from overwriting an answer.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Ichido, StoredRecord, StoredResponse } from "ichido";
import type { Request } from "express";
import { textOf } from "./errors.ts";
import type { Answer } from "./http/answer.ts";

/** The final answer to the request of this record; undefined: it cannot be told yet. Called by several shops at once. */
export type FindAnswer = (record: StoredRecord, signal: AbortSignal) => Promise<Answer | undefined>;

export interface ReconcilerOptions {
  readonly ichido: Pick<Ichido<Request>, "store">;
  readonly operations: Readonly<Record<string, FindAnswer>>;
  readonly log: (line: string) => void;
}

const EVERY_MS = 1_000;
/** Records looked into at once, and pages of them in one round; the next round goes on where this one ended. */
const PAGE = 16;
const PAGES_MAX = 8;
/** Where no interim answer promised anything, the caller may come back and settle it: no hurry. */
const VANISHED_PAUSE_MS = 15_000;
const PAUSES_MAX = 10_000;

/** Gives back how to stop it. */
export function startReconciler({ ichido, operations, log }: ReconcilerOptions): () => Promise<void> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const cursors = new Map<string, string>();
  const pauses = new Map<string, number>();

  async function round(operation: string, find: FindAnswer): Promise<void> {
    for (let page = 0; page < PAGES_MAX && !signal.aborted; page += 1) {
      const from = cursors.get(operation);
      const found = await ichido.store.list({
        operation,
        state: "unknown",
        limit: PAGE,
        ...(from === undefined ? {} : { cursor: from }),
      });
      if (found.cursor === undefined) cursors.delete(operation);
      else cursors.set(operation, found.cursor);
      await Promise.all(found.records.filter(isDue).map((record) => settle(record, find).catch(note)));
      if (found.cursor === undefined) return;
    }
  }

  function isDue(record: StoredRecord): boolean {
    return record.holdReason === undefined && (pauses.get(nameOf(record)) ?? 0) <= performance.now();
  }

  async function settle(record: StoredRecord, find: FindAnswer): Promise<void> {
    const { identity, fence, interim } = record;
    const answer = await find(record, signal);
    if (answer === undefined) {
      if (pauses.size >= PAUSES_MAX) pauses.clear();
      if (interim === undefined) pauses.set(nameOf(record), performance.now() + VANISHED_PAUSE_MS);
      return;
    }
    // Any refusal means that the record has moved on: the next round sees what is left to do.
    await ichido.store.settle({
      identity,
      fence,
      decision: { kind: "adopt", response: storedOf(answer) },
      actor: "shop reconciler",
      reason: "the bank was asked for the outcome",
    });
  }

  function note(error: unknown): void {
    if (!signal.aborted) log(`reconciling failed, and is tried again: ${textOf(error)}`);
  }

  const running = (async () => {
    while (!signal.aborted) {
      const rounds = Object.entries(operations).map(([operation, find]) => round(operation, find).catch(note));
      await Promise.all(rounds);
      await sleep(EVERY_MS, undefined, { signal }).catch(() => undefined);
    }
  })();

  return async () => {
    stopping.abort();
    await running;
  };
}

/** One attempt's record: a later attempt is looked into anew. */
function nameOf({ identity, fence }: StoredRecord): string {
  return `${fence} ${identity.key}`;
}

function storedOf({ status, headers, body }: Answer): StoredResponse {
  return { kind: "full", status, headers: Object.entries(headers), body: Buffer.from(JSON.stringify(body)) };
}
