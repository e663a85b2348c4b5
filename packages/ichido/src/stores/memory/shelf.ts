/** The rows of a memory store: looked up by identity, bounded in number and bytes, ordered by when they may go. */
import type { Identity, StoredResponse } from "../../core/record.ts";
import { dueUs } from "../../core/record-machine/view.ts";
import { createDueQueue, type Queued } from "./due-queue.ts";
import { textOf, type Row } from "./row.ts";

interface Slot extends Queued {
  readonly id: string;
  row: Row;
  bytes: number;
}

export interface ShelfLimits {
  readonly recordsMax: number;
  readonly bytesMax: number;
}

/** What a record costs besides its texts and bodies: objects, map entry, queue entry, hashes. Measured on Node 24. */
const recordBytes = 1_000;
const stepBytes = 150;
const headerBytes = 80;

/** Expired records that one claim may clear away to make room: bounded work, and more than the one it adds. */
const reclaimedPerClaimMax = 16;

export interface Shelf {
  readonly size: number;
  /** No record that was deleted had a greater fence. */
  readonly fenceFloor: number;
  get(identity: Identity): Row | undefined;
  put(row: Row): void;
  rows(): IterableIterator<Row>;
  /** Whether there is room for one more record, after clearing away a few expired ones if need be. */
  hasRoom(nowUs: number, trusted: boolean): boolean;
  /** Removes one expired record; false when there is none. */
  removeExpired(nowUs: number): boolean;
  /** Some record is expired. */
  hasExpired(nowUs: number): boolean;
}

export function createShelf(limits: ShelfLimits): Shelf {
  const slots = new Map<string, Slot>();
  const queue = createDueQueue<Slot>();
  let bytes = 0;
  let fenceFloor = 0;

  function firstExpired(nowUs: number): Slot | undefined {
    const slot = queue.first();
    return slot !== undefined && slot.dueUs <= nowUs ? slot : undefined;
  }

  function removeExpired(nowUs: number): boolean {
    const slot = firstExpired(nowUs);
    if (slot === undefined) return false;
    queue.put(slot, undefined);
    slots.delete(slot.id);
    bytes -= slot.bytes;
    fenceFloor = Math.max(fenceFloor, slot.row.fence);
    return true;
  }

  const isFull = (): boolean => slots.size >= limits.recordsMax || bytes >= limits.bytesMax;

  return {
    get size() {
      return slots.size;
    },
    get fenceFloor() {
      return fenceFloor;
    },
    get: (identity) => slots.get(idOf(identity))?.row,
    put(row) {
      const id = idOfRow(row);
      let slot = slots.get(id);
      if (slot === undefined) {
        slot = { id, row, bytes: 0, dueUs: 0, place: -1 };
        slots.set(id, slot);
      }
      slot.row = row;
      bytes -= slot.bytes;
      slot.bytes = sizeOf(row);
      bytes += slot.bytes;
      queue.put(slot, dueUs(row));
    },
    *rows() {
      for (const slot of slots.values()) yield slot.row;
    },
    hasRoom(nowUs, trusted) {
      for (let count = 0; trusted && isFull() && count < reclaimedPerClaimMax; count += 1) {
        if (!removeExpired(nowUs)) break;
      }
      return !isFull();
    },
    removeExpired,
    hasExpired: (nowUs) => firstExpired(nowUs) !== undefined,
  };
}

/** 32 characters of hash, then the key: no delimiter that a key could imitate. */
export function idOf(identity: Identity): string {
  return textOf(identity.scopeHash) + identity.key;
}

export const idOfRow = (row: Row): string => row.scopeHash + row.key;

function sizeOf(row: Row): number {
  let sum = recordBytes + 2 * row.key.length;
  for (const text of [row.tenant, row.principal, row.holdReason]) sum += text?.length ?? 0;
  for (const name in row.labels) sum += name.length + (row.labels[name]?.length ?? 0) + headerBytes;
  for (const step of row.steps) sum += stepBytes + step.name.length + (step.result?.length ?? 0);
  for (const entry of row.audit) sum += stepBytes + entry.actor.length + entry.reason.length;
  return sum + responseBytes(row.response) + responseBytes(row.interim);
}

function responseBytes(response: StoredResponse | undefined): number {
  if (response === undefined) return 0;
  let sum = response.body.length + stepBytes;
  for (const [name, value] of response.headers) sum += headerBytes + name.length + value.length;
  return sum;
}
