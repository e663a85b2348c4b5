/**
 * Keys of which a relay sends much. Where it has sent an event of a key, nothing of that key waits before it: writers of a key
 * commit in the order in which they add, and what was there was sent first. A claim need not look for it then, past all that
 * was removed of the key and that the server still keeps for a snapshot which somebody holds.
 */
import type { OutboxEvent } from "./database.ts";

/** Keys that are remembered; each travels with every claim. */
const keysMax = 1_000;
/** A look past fewer than these costs less than telling. */
const timesMin = 4;

export class PassedKeys {
  /** The one that was sent longest ago first. */
  readonly #keys = new Map<string, { readonly seq: number; readonly times: number }>();

  /** Sent, and written. */
  sent({ keyHash, seq }: Pick<OutboxEvent, "keyHash" | "seq">): void {
    if (keyHash === undefined) return;
    const times = (this.#keys.get(keyHash)?.times ?? 0) + 1;
    this.#keys.delete(keyHash);
    this.#keys.set(keyHash, { seq, times });
    const [oldest] = this.#keys.keys();
    if (this.#keys.size > keysMax && oldest !== undefined) this.#keys.delete(oldest);
  }

  /** Hashes of those of which nothing waits at or below the floor. */
  above(floor: number): readonly string[] {
    const hashes: string[] = [];
    for (const [hash, { seq, times }] of this.#keys) if (times >= timesMin && seq > floor) hashes.push(hash);
    return hashes;
  }

  /** Others may have its lanes. */
  forget(): void {
    this.#keys.clear();
  }
}
