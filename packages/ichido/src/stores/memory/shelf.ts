/**
 * The rows of a memory store: looked up by identity, bounded in number and bytes, as a whole and for each caller, and
 * ordered by when they may go.
 */
import { lengthPrefixed } from "../../core/request/sha256.ts";
import type { Identity, Key } from "../../core/contract/record.ts";
import type { Resource } from "../../core/contract/history.ts";
import type { ListQuery } from "../../core/contract/store.ts";
import { floorAfter, type Moment, type Standing } from "../../core/record-machine/record.ts";
import { dueUs, isDue } from "../../core/record-machine/view.ts";
import { createDueQueue, type DueQueue, type Queued } from "./due-queue.ts";
import { PackedRow } from "./packed-row.ts";
import type { KeptResponse, Row } from "./row.ts";

/** All rows of one tenant and principal. Callers are queued by when the first of their rows may go. */
interface Caller extends Queued, Whose {
  readonly id: string;
  readonly due: DueQueue<Slot>;
  records: number;
  bytes: number;
}

interface Slot extends Queued {
  readonly id: string;
  readonly caller: Caller;
  row: Row | PackedRow;
  bytes: number;
}

type Indexed = Pick<Row, "labels" | "resources">;

export interface ShelfLimits {
  readonly recordsMax: number;
  readonly bytesMax: number;
  /** Of either bound, what one caller may take up. */
  readonly scopeShareMax: number;
}

/** `full`: no caller may add a record. `quota`: this caller has used up its share. */
export type Room = "free" | "full" | "quota";

/** What a record costs besides its texts and bodies: objects, map entry, queue entry, hashes. Measured on Node 24. */
const recordBytes = 1_000;
const stepBytes = 150;
const headerBytes = 80;
const callerBytes = 400;

/** Expired records that one claim may clear away to make room: bounded work, and more than the one it adds. */
const reclaimedPerClaimMax = 16;

type Whose = Pick<Identity, "tenant" | "principal">;

const scopeLength = 32;

/** The row of a slot, as the rules of a record take it. */
function rowOf({ id, caller, row }: Slot): Row {
  if (!(row instanceof PackedRow)) return row;
  const { tenant, principal } = caller;
  return row.unpack({ key: keyIn(id), scopeHash: id.slice(0, scopeLength), tenant, principal });
}

const keyIn = (id: string): Key => id.slice(scopeLength) as Key;

/** What can be said of a record without its whole row. */
export type Listed = Pick<Row, "tenant" | "principal" | "operation" | "key" | "scopeHash" | "createdUs"> &
  Indexed &
  Standing & { readonly bodyBytes: number; readonly whole: () => Row };

function listed(slot: Slot): Listed {
  const { id, caller, row } = slot;
  if (!(row instanceof PackedRow)) {
    return { ...row, bodyBytes: (row.response?.bytes ?? 0) + (row.interim?.bytes ?? 0), whole: () => row };
  }
  return {
    state: "completed",
    leaseUs: 0,
    stepsStarted: 0,
    doubtStays: false,
    createdUs: 0,
    expiresUs: row.expiresUs,
    tenant: caller.tenant,
    principal: caller.principal,
    operation: row.operation,
    key: keyIn(id),
    scopeHash: id.slice(0, scopeLength),
    labels: row.labels,
    resources: row.resources,
    bodyBytes: row.bodyBytes,
    whole: () => rowOf(slot),
  };
}

export interface Shelf {
  readonly size: number;
  /** No record that was deleted had a greater fence. */
  readonly fenceFloor: number;
  /** By `localIdOf` of the identity. */
  get(id: string): Row | undefined;
  put(id: string, row: Row): void;
  /** All, or those that have the label or the resource that is asked for, by an index. */
  rows(query?: Pick<ListQuery, "label" | "resource">): IterableIterator<Listed>;
  /** Whether this caller may have one more record, after clearing away a few expired ones if need be. */
  roomFor(caller: Whose, moment: Pick<Moment, "nowUs" | "trusted">): Room;
  /** Removes one expired record; false when there is none. */
  removeExpired(nowUs: number): boolean;
  /** Some record is expired. */
  hasExpired(nowUs: number): boolean;
}

/** `gone` is told of every record that expiry removed. */
export function createShelf(limits: ShelfLimits, gone: (id: string) => void): Shelf {
  const slots = new Map<string, Slot>();
  /** Ids of records by what they are searched by. */
  const index = new Map<string, Set<string>>();
  const callers = new Map<string, Caller>();
  const due = createDueQueue<Caller>();
  const recordsShare = Math.ceil(limits.recordsMax * limits.scopeShareMax);
  const bytesShare = Math.ceil(limits.bytesMax * limits.scopeShareMax);
  let bytes = 0;
  let fenceFloor = 0;

  function callerOf(whose: Whose): Caller {
    const id = callerIdOf(whose);
    let caller = callers.get(id);
    if (caller === undefined) {
      const { tenant, principal } = whose;
      caller = { id, tenant, principal, due: createDueQueue<Slot>(), records: 0, bytes: 0, dueUs: 0, place: -1 };
      callers.set(id, caller);
      bytes += callerBytes;
    }
    return caller;
  }

  function unindex(id: string, terms: readonly string[]): void {
    for (const term of terms) {
      const ids = index.get(term);
      ids?.delete(id);
      if (ids?.size === 0) index.delete(term);
    }
  }

  function reindex(id: string, before: Indexed | undefined, row: Indexed): void {
    if (before?.labels === row.labels && before.resources === row.resources) return;
    if (before !== undefined) unindex(id, termsOf(before));
    for (const term of termsOf(row)) {
      const ids = index.get(term);
      if (ids === undefined) index.set(term, new Set([id]));
      else ids.add(id);
    }
  }

  function resize(slot: Slot, size: number): void {
    const more = size - slot.bytes;
    slot.bytes = size;
    slot.caller.bytes += more;
    bytes += more;
  }

  function requeue(slot: Slot, slotDueUs: number | undefined): void {
    slot.caller.due.put(slot, slotDueUs);
    due.put(slot.caller, slot.caller.due.first()?.dueUs);
  }

  /** The first row that may go: of that caller, or of all. */
  function firstExpired(nowUs: number, caller = due.first()): Slot | undefined {
    const slot = caller?.due.first();
    return slot !== undefined && isDue(slot.dueUs, nowUs) ? slot : undefined;
  }

  function remove(slot: Slot | undefined): boolean {
    if (slot === undefined) return false;
    const { caller } = slot;
    requeue(slot, undefined);
    resize(slot, 0);
    slots.delete(slot.id);
    unindex(slot.id, termsOf(slot.row));
    gone(slot.id);
    fenceFloor = floorAfter(fenceFloor, rowOf(slot).fence);
    caller.records -= 1;
    if (caller.records === 0) {
      callers.delete(caller.id);
      bytes -= callerBytes;
    }
    return true;
  }

  const isFull = (): boolean => slots.size >= limits.recordsMax || bytes >= limits.bytesMax;

  /** Where all callers share their keys, no caller needs protection from another. */
  const isBounded = ({ tenant, principal }: Whose): boolean => tenant !== undefined || principal !== undefined;
  const hasItsShare = (caller: Caller | undefined): caller is Caller =>
    caller !== undefined && (caller.records >= recordsShare || caller.bytes >= bytesShare);

  return {
    get size() {
      return slots.size;
    },
    get fenceFloor() {
      return fenceFloor;
    },
    get(id) {
      const slot = slots.get(id);
      return slot === undefined ? undefined : rowOf(slot);
    },
    put(id, row) {
      let slot = slots.get(id);
      reindex(id, slot?.row, row);
      if (slot === undefined) {
        slot = { id, caller: callerOf(row), row, bytes: 0, dueUs: 0, place: -1 };
        slot.caller.records += 1;
        slots.set(id, slot);
      }
      slot.row = PackedRow.of(row) ?? row;
      resize(slot, sizeOf(row));
      requeue(slot, dueUs(row));
    },
    *rows({ label, resource } = {}) {
      const term = label === undefined ? resource && resourceTerm(resource) : labelTerm(label.name, label.value);
      const found = term === undefined ? slots.keys() : (index.get(term) ?? []);
      for (const id of found) {
        const slot = slots.get(id);
        if (slot !== undefined) yield listed(slot);
      }
    },
    roomFor(whose, { nowUs, trusted }) {
      const caller = isBounded(whose) ? callers.get(callerIdOf(whose)) : undefined;
      for (let count = 0; trusted && count < reclaimedPerClaimMax; count += 1) {
        const isOver = hasItsShare(caller);
        if (!isOver && !isFull()) break;
        if (!remove(isOver ? firstExpired(nowUs, caller) : firstExpired(nowUs))) break;
      }
      if (isFull()) return "full";
      return hasItsShare(caller) ? "quota" : "free";
    },
    removeExpired: (nowUs) => remove(firstExpired(nowUs)),
    hasExpired: (nowUs) => firstExpired(nowUs) !== undefined,
  };
}

const labelTerm = (name: string, value: string): string => lengthPrefixed(["label", name, value]);
const resourceTerm = ({ kind, id }: Resource): string => lengthPrefixed(["resource", kind, id]);

function termsOf({ labels, resources }: Indexed): readonly string[] {
  return [...Object.entries(labels).map(([name, value]) => labelTerm(name, value)), ...resources.map(resourceTerm)];
}

const callerIdOf = ({ tenant, principal }: Whose): string => lengthPrefixed([tenant, principal]);

function sizeOf(row: Row): number {
  let sum = recordBytes + 2 * row.key.length;
  sum += (row.tenant?.length ?? 0) + (row.principal?.length ?? 0) + (row.holdReason?.length ?? 0);
  for (const name in row.labels) sum += name.length + (row.labels[name]?.length ?? 0) + headerBytes;
  for (const step of row.steps) sum += stepBytes + step.name.length + (step.result?.length ?? 0);
  for (const { kind, id } of row.resources) sum += kind.length + id.length + headerBytes;
  for (const entry of row.audit) sum += stepBytes + entry.actor.length + entry.reason.length;
  return sum + responseBytes(row.response) + responseBytes(row.interim);
}

function responseBytes(response: KeptResponse | undefined): number {
  if (response === undefined) return 0;
  let sum = response.bytes + stepBytes;
  for (const [name, value] of response.headers) sum += headerBytes + name.length + value.length;
  return sum;
}
