/** Arranges records in a store, asks what the vectors ask, and tells every difference from what the machine says. */
import { isDeepStrictEqual } from "node:util";
import type { Fingerprint, Identity, Store, StoredRecord, StoredResponse } from "ichido";
import { isIchidoError } from "../../../packages/ichido/src/core/contract/errors.ts";
import { mayLeaveLease } from "../../../packages/ichido/src/core/record-machine/owned.ts";
import type { HeldRecord, WholeRecord } from "../../../packages/ichido/src/core/record-machine/record.ts";
import type { TickRow } from "../../../packages/ichido/src/core/record-machine/ticks.ts";
import { isNeeded, recordView, stepView } from "../../../packages/ichido/src/core/record-machine/view.ts";
import { nowUs, type Vector } from "./cases.ts";

/** A record as it lies in a store, whatever its columns are called. */
export interface Lying extends Omit<HeldRecord, "stepsStarted"> {
  readonly hasSteps: boolean;
  /** Whether the store has noted that time alone may remove it; only where it keeps such a note. */
  readonly mayGo?: boolean;
}

export interface Placed {
  readonly identity: Identity;
  readonly record: WholeRecord;
  /** One of the `damages` of the bed. */
  readonly damage?: string;
}

/** A store whose clock stands at `nowUs`, with a way around its verbs. */
export interface Bed {
  /** Empties the store, lays records into it, and gives a store that has seen nothing of it before. */
  arrange(placed: readonly Placed[], tick: TickRow | undefined): Promise<Store>;
  /** Everything that lies in the store, by key. */
  lying(): Promise<ReadonlyMap<string, Lying>>;
  /** What can be wrong with a row of this store, and all rows as they lie there, damaged or not. */
  readonly damages?: readonly string[];
  rows?(): Promise<unknown>;
  /** What the store may leave beside what the machine says, where that is safe and cheaper. */
  alsoLeaves?(vector: Vector): readonly WholeRecord[];
  /** Where the store looks before it sweeps, and decides anew for each record: that decision, for all of them. */
  sweepEach?(placed: readonly Placed[], tick: TickRow | undefined): Promise<void>;
  /** Where the store looks before it forgets: what the script answers when the record is another one by then. */
  forgetEach?(): Promise<readonly string[]>;
  close(): Promise<void>;
}

/** What a verb answers, or with which code it fails. */
export async function outcomeOf(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    return { threw: isIchidoError(error) ? error.code : String(error), because: String(error) };
  }
}

const arrangedAtOnce = 4_000;
const askedAtOnce = 400;

export async function differences(
  bed: Bed,
  vectors: readonly Vector[],
  tick: TickRow | undefined,
  { enough = 20, alone = false }: { readonly enough?: number; readonly alone?: boolean } = {},
): Promise<readonly string[]> {
  const found: string[] = [];
  for (let start = 0; start < vectors.length && found.length < enough; start += arrangedAtOnce) {
    const some = vectors.slice(start, start + arrangedAtOnce);
    const placed = some.flatMap(({ identity, before }) => (before === undefined ? [] : [{ identity, record: before }]));
    const store = await bed.arrange(placed, tick);
    found.push(...(await differencesIn(bed, store, some, { enough, atOnce: alone ? 1 : askedAtOnce })));
  }
  return found.slice(0, enough);
}

async function differencesIn(
  bed: Bed,
  store: Store,
  vectors: readonly Vector[],
  { enough, atOnce }: { readonly enough: number; readonly atOnce: number },
): Promise<readonly string[]> {
  const found: string[] = [];
  const tell = (vector: Vector, what: string, got: unknown, wanted: unknown): void => {
    const [one, other] = unlike(plain(got), plain(wanted));
    found.push(`${vector.title}: ${what} ${shown(one)}, not ${shown(other)}`);
  };
  for (let start = 0; start < vectors.length; start += atOnce) {
    const some = vectors.slice(start, start + atOnce);
    const results = await Promise.all(some.map((vector) => outcomeOf(vector.apply(store))));
    for (const [index, vector] of some.entries()) {
      const got = results[index];
      if (!alike(got, vector.result)) tell(vector, "answered", got, vector.result);
    }
    // A wrong copy is mostly found out by the first of them.
    if (found.length >= enough) return found;
    const histories = await Promise.all(some.map((vector) => historyOf(store, vector)));
    for (const [index, vector] of some.entries()) {
      const wanted = wantedHistory(vector);
      if (!alike(histories[index], wanted)) tell(vector, "has", histories[index], wanted);
    }
    if (found.length >= enough) return found;
  }
  const [lying, listed] = [await bed.lying(), await listedOf(store)];
  for (const vector of vectors) {
    const { key } = vector.identity;
    const allowed = [...allowedAfter(vector), ...(bed.alsoLeaves?.(vector) ?? [])];
    const got = lying.get(key);
    const fitting = allowed.find((after) => alike(got, lyingOf(after, got)));
    if (got !== undefined && fitting === undefined) {
      tell(vector, "left", got, lyingOf(allowed[0], got));
    } else if ((got === undefined) !== (vector.after === undefined)) {
      tell(vector, "left", got, lyingOf(vector.after, undefined));
    } else {
      const view = viewOf(vector.identity, fitting);
      if (!alike(listed.get(key), view)) tell(vector, "lists", listed.get(key), view);
    }
  }
  return found;
}

/** A step may leave the lease to the heartbeat, and then the record is not written at all. */
function allowedAfter({ verb, before, after, result }: Vector): readonly (WholeRecord | undefined)[] {
  if (before === undefined || after === undefined || result !== "ok") return [after];
  if (verb !== "startStep" && verb !== "finishStep") return [after];
  if (!mayLeaveLease(before, 45_000, nowUs)) return [after];
  return [after, { ...after, leaseUs: before.leaseUs, updatedUs: before.updatedUs }];
}

async function historyOf(store: Store, { verb, identity, before, after }: Vector): Promise<unknown> {
  const withSteps = (before?.stepsStarted ?? 0) + (after?.stepsStarted ?? 0) > 0 && verb !== "claim";
  const steps = withSteps ? await store.steps(identity) : [];
  return { steps, audit: isAudited(verb) ? await store.audit(identity) : [] };
}

function wantedHistory({ verb, after }: Vector): unknown {
  const steps = verb === "claim" ? [] : (after?.steps ?? []);
  return { steps: steps.map((step) => stepView(step, nowUs)), audit: isAudited(verb) ? (after?.audit ?? []) : [] };
}

function isAudited(verb: Vector["verb"]): boolean {
  return verb === "settle" || verb === "forget";
}

function lyingOf(record: WholeRecord | undefined, got: Lying | undefined): Lying | undefined {
  if (record === undefined) return undefined;
  // No vector tells of what was made: cases S20 of the suite do.
  const { stepsStarted, steps: _steps, audit: _audit, resources: _resources, ...kept } = record;
  const note = got?.mayGo === undefined ? {} : { mayGo: !isNeeded(record) };
  // What is left of a lease or of an answer once it means nothing is a store's own affair.
  return { ...kept, leaseUs: kept.state === "processing" ? kept.leaseUs : 0, hasSteps: stepsStarted > 0, ...note };
}

async function listedOf(store: Store): Promise<ReadonlyMap<string, StoredRecord>> {
  const found = new Map<string, StoredRecord>();
  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: 1_000, ...(cursor !== undefined && { cursor }) });
    for (const record of page.records) found.set(record.identity.key, record);
    ({ cursor } = page);
  } while (cursor !== undefined);
  return found;
}

function viewOf(identity: Identity, record: WholeRecord | undefined): unknown {
  if (record === undefined) return undefined;
  const withoutBody = (answer: StoredResponse | undefined): StoredResponse | undefined =>
    answer === undefined ? undefined : { ...answer, body: new Uint8Array() };
  const { interim, response, createdUs } = record;
  const shown = { ...record, interim: withoutBody(interim), response: withoutBody(response) };
  // Laid into the store by version 1, claimed as new by version 2.
  const fingerprint = { version: createdUs === nowUs ? 2 : 1, ...record.fingerprint } as Fingerprint;
  return recordView({ identity, fingerprint, labels: {} }, shown, nowUs);
}

/** As `plain` would have them, without making anything: most of what is compared is the same. */
function alike(one: unknown, other: unknown): boolean {
  if (one instanceof Uint8Array || other instanceof Uint8Array) {
    return one instanceof Uint8Array && other instanceof Uint8Array && Buffer.compare(one, other) === 0;
  }
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) {
    return Object.is(one, other);
  }
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
    return one.every((each, index) => alike(each, other[index]));
  }
  const [left, right] = [one as Readonly<Record<string, unknown>>, other as Readonly<Record<string, unknown>>];
  const isIn = (name: string): boolean => alike(left[name], right[name]);
  return Object.keys(left).every(isIn) && Object.keys(right).every((name) => name in left || right[name] === undefined);
}

/** Bytes as text, and nothing that is undefined: two drivers' ways to say the same. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(members.map(([name, each]) => [name, plain(each)]));
}

/** Of two objects, the members that differ. */
function unlike(one: unknown, other: unknown): readonly [unknown, unknown] {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return [one, other];
  const [left, right] = [new Map(Object.entries(one)), new Map(Object.entries(other))];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  const differing = names.filter((name) => !isDeepStrictEqual(left.get(name), right.get(name)));
  const some = (from: Map<string, unknown>) => Object.fromEntries(differing.map((name) => [name, from.get(name)]));
  return [some(left), some(right)];
}

function shown(value: unknown): string {
  return JSON.stringify(plain(value)) ?? "nothing";
}
