/**
 * Completed answers in memory, so that a replay needs no round trip. A completed record never changes until it expires,
 * so an entry is true for as long as it lives; it dies no later than its record, by the monotonic clock. A content that
 * differs is not answered from here: the store judges it.
 */
import type { Environment } from "../contract/environment.ts";
import { isSameRequest } from "../record-machine/claim.ts";
import type { Fingerprint, StoredResponse } from "../contract/record.ts";
import type { Ask } from "./ruling.ts";
import { localIdOf } from "../request/scope.ts";

type Asked = Pick<Ask<never>, "identity" | "fingerprint" | "startedMs">;

export interface ReplayCache {
  get(ask: Asked): StoredResponse | undefined;
  /** `livesMs`: of the record, counted from before the claim was sent, however long the store's word was under way. */
  put(ask: Asked, stored: StoredResponse, livesMs: number): void;
  clear(): void;
  readonly size: number;
}

interface Entry {
  readonly fingerprint: Fingerprint;
  readonly stored: StoredResponse;
  readonly endMs: number;
  readonly bytes: number;
}

/** What an entry costs beside its body: hashes, header lines, bookkeeping. */
const overheadBytes = 512;

export function createReplayCache(parts: {
  readonly environment: Environment;
  readonly recordsMax: number;
  readonly bytesMax: number;
}): ReplayCache {
  const { environment } = parts;
  /** In order of use: the first is the one that was not asked for longest. */
  const entries = new Map<string, Entry>();
  let bytes = 0;

  function drop(id: string): void {
    const entry = entries.get(id);
    if (entry === undefined) return;
    entries.delete(id);
    bytes -= entry.bytes;
  }

  return {
    get({ identity, fingerprint }) {
      const id = localIdOf(identity);
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      if (environment.monotonicMs() >= entry.endMs) {
        drop(id);
        return undefined;
      }
      if (!isSameRequest(entry.fingerprint, fingerprint)) return undefined;
      entries.delete(id);
      entries.set(id, entry);
      return entry.stored;
    },
    put({ identity, fingerprint, startedMs }, stored, livesMs) {
      const id = localIdOf(identity);
      drop(id);
      const entry: Entry = {
        fingerprint,
        stored,
        endMs: startedMs + livesMs,
        bytes: stored.body.length + overheadBytes,
      };
      if (entry.bytes > parts.bytesMax || entry.endMs <= environment.monotonicMs()) return;
      entries.set(id, entry);
      bytes += entry.bytes;
      for (const eldest of entries.keys()) {
        if (entries.size <= parts.recordsMax && bytes <= parts.bytesMax) break;
        drop(eldest);
      }
    },
    clear() {
      entries.clear();
      bytes = 0;
    },
    get size() {
      return entries.size;
    },
  };
}
