/**
 * Completed answers in memory, so that a replay needs no round trip. A completed record never changes until it expires,
 * so an entry is true for as long as it lives; it dies no later than its record, by the monotonic clock. A content that
 * differs is not answered from here: the store judges it.
 */
import type { Environment } from "./environment.ts";
import type { Fingerprint, StoredResponse } from "./record.ts";

export interface ReplayCache {
  get(id: string, fingerprint: Fingerprint): StoredResponse | undefined;
  put(
    id: string,
    entry: { readonly fingerprint: Fingerprint; readonly stored: StoredResponse; readonly leftMs: number },
  ): void;
  drop(id: string): void;
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

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

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
    get(id, fingerprint) {
      const entry = entries.get(id);
      if (entry === undefined) return undefined;
      if (environment.monotonicMs() >= entry.endMs) {
        drop(id);
        return undefined;
      }
      const same =
        equal(entry.fingerprint.raw, fingerprint.raw) || equal(entry.fingerprint.canonical, fingerprint.canonical);
      if (!same) return undefined;
      entries.delete(id);
      entries.set(id, entry);
      return entry.stored;
    },
    put(id, { fingerprint, stored, leftMs }) {
      drop(id);
      const entry: Entry = {
        fingerprint,
        stored,
        endMs: environment.monotonicMs() + leftMs,
        bytes: stored.body.length + overheadBytes,
      };
      if (entry.bytes > parts.bytesMax || leftMs <= 0) return;
      entries.set(id, entry);
      bytes += entry.bytes;
      for (const eldest of entries.keys()) {
        if (entries.size <= parts.recordsMax && bytes <= parts.bytesMax) break;
        drop(eldest);
      }
    },
    drop,
    clear() {
      entries.clear();
      bytes = 0;
    },
    get size() {
      return entries.size;
    },
  };
}
