/**
 * Records that were damaged in the store: by a restore, a migration of somebody else's, a hand, a disk. Two callers have
 * the same key; one row of theirs is damaged. Whoever asks then gets what the row says or an error of the store: never
 * a second run of what was completed, never the other caller's answer; and the other caller notices nothing.
 */
import type { ClaimRequest, ClaimResult, Store } from "../../packages/ichido/src/core/contract/store.ts";
import { isIchidoError } from "../../packages/ichido/src/core/contract/errors.ts";
import {
  sampleFingerprint,
  sampleIdentity,
  sampleOwner,
  sampleResponse,
} from "../../packages/ichido/src/testing/store-suite/samples.ts";
import { flipBit, inheritedNames } from "./draw.ts";
import { must, type Random, type Trial } from "./target.ts";

export type Column = null | number | string | Uint8Array;

/** A store, and a hand on its rows. */
export interface Rows {
  readonly store: Store;
  /** Columns that may be damaged. Those that find the row stay: without them it is a row of somebody else. */
  readonly columns: readonly string[];
  readonly read: (request: ClaimRequest) => Promise<Readonly<Record<string, Column>>>;
  /** Undefined: the database does not take the value. */
  readonly write: (request: ClaimRequest, row: Readonly<Record<string, Column>>) => Promise<void | undefined>;
  /** What a column may hold that ichido itself would write for a record that may run: that is no damage but a decision. */
  readonly isDecision: (column: string, value: Column) => boolean;
  /** The kind of its answer, as the row has it. */
  readonly kindOf: (row: Readonly<Record<string, Column>>) => string;
  readonly close: () => Promise<void> | void;
}

const mine = "answer of mine";
const others = "answer of somebody else";

type State = "completed" | "processing";

function requestOf(principal: string, state: State): ClaimRequest {
  return {
    identity: sampleIdentity(`key of a ${state} record`, { tenant: "t", principal }),
    owner: sampleOwner(principal),
    fingerprint: sampleFingerprint(),
    leaseMs: 60_000,
    retentionMs: 86_400_000,
    takeover: "lapsed",
    labels: { order: principal },
  };
}

/** Also again: its owner then gets a new lease. */
async function begin(store: Store, request: ClaimRequest, body: string | undefined): Promise<void> {
  const claimed = await store.claim(request);
  if (claimed.outcome === "completed") return;
  if (claimed.outcome !== "granted") throw new Error(`expected a grant, got ${claimed.outcome}`);
  if (body === undefined) return;
  await store.complete({ ...request, fence: claimed.fence, response: sampleResponse({ body }) });
}

function drawValue(random: Random, original: Column): Column {
  const text = (): string =>
    original instanceof Uint8Array ? Buffer.from(original).toString("latin1") : String(original);
  const bytes = (): Uint8Array => (original instanceof Uint8Array ? original : Buffer.from(text()));
  const asBefore = (changed: Uint8Array): Column =>
    original instanceof Uint8Array ? changed : Buffer.from(changed).toString("utf8");
  switch (random.int(0, 9)) {
    case 0:
      return null;
    case 1:
    case 2:
      return bytes().length === 0 ? "x" : asBefore(flipBit(random, bytes()));
    case 3:
    case 4:
      return asBefore(bytes().subarray(0, random.int(0, Math.max(0, bytes().length - 1))));
    case 5:
      return random.pick([
        "",
        "x",
        " ",
        "0",
        "-1",
        "1e400",
        "NaN",
        "Infinity",
        "[]",
        "{}",
        "null",
        '[["a"]]',
        '[["a",1]]',
      ]);
    case 6:
      return random.pick([0, -1, 1.5, 2 ** 31, 2 ** 53, -(2 ** 53), 99_999, 101]);
    case 7:
      return random.pick([...inheritedNames, '{"__proto__":{"x":1}}', '[["__proto__","x"]]', '[["a","b\\r\\nc: d"]]']);
    case 8:
      return random.bytes(random.int(0, 64));
    default:
      return "x".repeat(random.int(1, 20_000));
  }
}

const isSame = (one: Column, other: Column): boolean =>
  one instanceof Uint8Array && other instanceof Uint8Array ? Buffer.compare(one, other) === 0 : one === other;

async function outcomeOf<Value>(asked: Promise<Value>): Promise<Value | Error> {
  try {
    return await asked;
  } catch (error) {
    return error as Error;
  }
}

/** The store's own error, or the one that says that a row is damaged: the engine makes 503 of both. */
function isKnownError(error: Error): boolean {
  return isIchidoError(error) || error instanceof TypeError;
}

interface Damaged {
  readonly state: State;
  readonly kind: string;
  readonly damage: Readonly<Record<string, Column>>;
}

function judge(result: ClaimResult | Error, shown: Damaged): void {
  const { state, kind } = shown;
  if (result instanceof Error) {
    must(isKnownError(result), "an error that is not the store's", result, shown);
    return;
  }
  const allowed = state === "completed" ? ["completed", "mismatch"] : ["processing", "mismatch", "unknown"];
  must(allowed.includes(result.outcome), `a ${state} record is now ${result.outcome}`, shown);
  if (result.outcome !== "completed") return;
  const { status, headers, body } = result.response;
  must(result.response.kind === kind, "a kind of answer that it is not", result.response.kind, shown);
  must(Number.isSafeInteger(status), "a status that is none", status, shown);
  must(
    headers.every((line) => line.length === 2 && line.every((part) => typeof part === "string")),
    "odd lines",
    shown,
  );
  must(!Buffer.from(body).includes(others), "the answer of somebody else", shown);
}

export async function tryDamage(rows: Rows): Promise<Trial> {
  const { store } = rows;
  const states = ["completed", "processing"] as const;
  const stranger = requestOf("somebody else", "completed");
  await begin(store, stranger, others);
  const sound = new Map<string, Readonly<Record<string, Column>>>();
  let inputs = 0;
  async function beginAll(): Promise<void> {
    for (const state of states) {
      await begin(store, requestOf("me", state), state === "completed" ? mine : undefined);
      sound.set(state, await rows.read(requestOf("me", state)));
    }
  }

  async function attempt(random: Random): Promise<void> {
    // Long before the lease of the record under way ends.
    if (inputs % 500 === 0) await beginAll();
    inputs += 1;
    const state: State = random.chance(0.7) ? "completed" : "processing";
    const request = requestOf("me", state);
    const original = sound.get(state) as Readonly<Record<string, Column>>;
    const damage: Record<string, Column> = {};
    for (let count = random.chance(0.7) ? 1 : random.int(2, 4); count > 0; count -= 1) {
      const column = random.pick(rows.columns);
      const value = drawValue(random, original[column] ?? null);
      if (isSame(value, original[column] ?? null) || rows.isDecision(column, value)) continue;
      damage[column] = value;
    }
    try {
      await rows.write(request, damage);
    } catch {
      // The database itself refuses such a value.
      return;
    }
    try {
      const again = { ...request, owner: sampleOwner("a second try") };
      const otherContent = { ...again, fingerprint: sampleFingerprint("other content") };
      const [found, result, other] = await Promise.all([
        outcomeOf(store.find(request.identity)),
        outcomeOf(store.claim(again)),
        outcomeOf(store.claim({ ...stranger, owner: sampleOwner("a third try") })),
      ]);
      const shown = { state, kind: rows.kindOf({ ...original, ...damage }), damage };
      judge(result, shown);
      must(found !== undefined, "a record that is there was not found", shown);
      if (found instanceof Error) must(isKnownError(found), "an error that is not the store's", found, shown);
      else must(["completed", "processing", "unknown", "failed"].includes(found.state), "an odd state", found, shown);
      const mismatch = await outcomeOf(store.claim(otherContent));
      const isRefused = mismatch instanceof Error ? isKnownError(mismatch) : mismatch.outcome === "mismatch";
      must(isRefused, "other content is not refused", mismatch, shown);
      const isUnharmed = !(other instanceof Error) && other.outcome === "completed";
      must(isUnharmed, "somebody else is harmed", other, shown);
      must(Buffer.from(other.response.body).toString() === others, "another answer for somebody else", shown);
    } finally {
      await rows.write(request, original);
    }
  }

  return { attempt, close: rows.close };
}
