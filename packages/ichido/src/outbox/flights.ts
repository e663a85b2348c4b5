/**
 * The events in a relay's hands. Those of one key form a chain, of which only the first may be on its way; others are
 * free to go. Nothing here knows of databases or brokers.
 */
import type { OutboxEvent } from "./database.ts";

export interface Flights {
  readonly size: number;
  readonly inFlight: number;
  has(seq: number): boolean;
  /**
   * In the order of their numbers; one that is here already is passed by, and so is one whose chain was just dropped. Of one
   * key no more than `chainMax` are taken, so that a slow one leaves room for others.
   */
  accept(events: readonly OutboxEvent[], chainMax: number): void;
  /** Hashes of the keys that have so many here that no more of them are to be read. They are remembered for `thinned`. */
  fullKeys(chainMax: number): readonly string[];
  /** Asked once: whether a key of which something was left unread has room again. */
  hasRoomAgain(): boolean;
  /** First events of their chains that are not on their way, oldest first. */
  readonly heads: ReadonlySet<OutboxEvent>;
  depart(event: OutboxEvent): void;
  /** Its outcome is known: the next of its key may go. */
  arrive(event: OutboxEvent): void;
  /** Gives up the whole chain of an event, which will be read again: order must be kept by reading, not by memory. */
  dropChain(event: OutboxEvent): void;
  /**
   * From now on until `accept`: chains that are dropped meanwhile. What a reading found of them stands behind something
   * that the reading left out, because it was still in hand when the reading began.
   */
  beginReading(): void;
  /** Gives up everything that is not on its way. */
  dropWaiting(): void;
  dropLane(lane: number): void;
  seqs(): number[];
  lanes(): Set<number>;
}

/** The name of its chain: of its key where order is kept, else its own. */
export const chainOf = ({ keyHash, seq }: Pick<OutboxEvent, "keyHash" | "seq">): string => keyHash ?? `#${seq}`;

export function createFlights(): Flights {
  const held = new Map<number, OutboxEvent>();
  const chains = new Map<string, OutboxEvent[]>();
  const heads = new Set<OutboxEvent>();
  const away = new Set<OutboxEvent>();
  const droppedSince = new Set<string>();
  /** Keys of which something may have been left unread, with the length at which they have room again. */
  const leftUnread = new Map<string, number>();
  let hasRoom = false;

  function forget(event: OutboxEvent): void {
    held.delete(event.seq);
    heads.delete(event);
  }

  function shorten(event: OutboxEvent, rest: OutboxEvent[]): void {
    const chain = chainOf(event);
    if (rest.length === 0) chains.delete(chain);
    else chains.set(chain, rest);
    const room = leftUnread.get(chain);
    if (room === undefined || rest.length > room) return;
    leftUnread.delete(chain);
    hasRoom = true;
  }

  function dropChain(event: OutboxEvent): void {
    droppedSince.add(chainOf(event));
    const chain = chains.get(chainOf(event)) ?? [];
    const kept = chain.filter((each) => away.has(each));
    for (const each of chain) if (!away.has(each)) forget(each);
    shorten(event, kept);
  }

  return {
    get size() {
      return held.size;
    },
    get inFlight() {
      return away.size;
    },
    has: (seq) => held.has(seq),
    heads,
    accept(events, chainMax) {
      for (const event of events.toSorted((one, other) => one.seq - other.seq)) {
        if (held.has(event.seq) || droppedSince.has(chainOf(event))) continue;
        const chain = chains.get(chainOf(event));
        if (chain !== undefined && chain.length >= chainMax) {
          leftUnread.set(chainOf(event), chainMax / 2);
          continue;
        }
        held.set(event.seq, event);
        if (chain === undefined) {
          chains.set(chainOf(event), [event]);
          heads.add(event);
        } else chain.push(event);
      }
      droppedSince.clear();
    },
    fullKeys(chainMax) {
      const keys: string[] = [];
      for (const [key, chain] of chains) {
        if (chain.length < chainMax || chain[0]?.keyHash === undefined) continue;
        leftUnread.set(key, chainMax / 2);
        keys.push(key);
      }
      return keys;
    },
    hasRoomAgain() {
      const had = hasRoom;
      hasRoom = false;
      return had;
    },
    beginReading: () => droppedSince.clear(),
    depart(event) {
      heads.delete(event);
      away.add(event);
    },
    arrive(event) {
      away.delete(event);
      forget(event);
      const rest = (chains.get(chainOf(event)) ?? []).filter((each) => each !== event);
      shorten(event, rest);
      const [next] = rest;
      if (next !== undefined) heads.add(next);
    },
    dropChain,
    dropWaiting() {
      for (const event of Array.from(held.values())) if (!away.has(event)) dropChain(event);
    },
    dropLane(lane) {
      for (const event of Array.from(held.values())) if (event.lane === lane && !away.has(event)) dropChain(event);
    },
    seqs: () => [...held.keys()],
    lanes: () => new Set([...held.values()].map(({ lane }) => lane)),
  };
}
