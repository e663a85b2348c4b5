/**
 * Where a page of records ended. A store's own cursor holds the key of the last record, and a cursor stands in addresses:
 * it is sealed as the handle of a record is, with a scope hash that no record has.
 */
import type { RecordHandles } from "../core/request/record-handle.ts";
import type { Key } from "../core/contract/record.ts";
import { Problem } from "./problem.ts";

const noScope = new Uint8Array(32);

export function sealedCursor(handles: RecordHandles, cursor: string): string {
  return handles.of({ key: cursor as Key, scopeHash: noScope });
}

export function openCursor(handles: RecordHandles, given: string): string {
  const opened = handles.open(given);
  if (opened !== undefined && opened.scopeHash.every((byte) => byte === 0)) return opened.key;
  throw new Problem("parameter", "cursor: expected the value that a former page gave; begin again without one", {
    parameter: "cursor",
  });
}
