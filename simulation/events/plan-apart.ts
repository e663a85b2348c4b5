/** What is drawn apart, for a quarter of the seeds, one kind for each: every other seed keeps its history. */
import { createRandom, type Random } from "../random.ts";

/**
 * Brought to the broker beside the outbox: the id of an event that was processed with another payload, topic, source or
 * content type; a topic that no handler wants; or what is no event.
 */
export type StrangerAs = "payload" | "topic" | "source" | "content-type" | "unwanted" | "unreadable";

export type ItemApart = { readonly atMs: number; readonly kind: "stranger"; readonly as: StrangerAs; readonly which: number };

export interface Apart {
  readonly items: readonly ItemApart[];
}

const strangerKinds = ["payload", "topic", "source", "content-type", "unwanted", "unwanted", "unreadable"] as const;

function strangers(random: Random, spanMs: number): Apart {
  const items = Array.from({ length: random.int(2, 6) }, () => ({
    kind: "stranger" as const,
    atMs: spanMs * random.between(0.2, 1),
    as: random.pick(strangerKinds),
    which: random.int(0, 99),
  }));
  return { items };
}

const nothing: Apart = { items: [] };

export function apartOf(seed: number, { spanMs }: { readonly spanMs: number }): Apart {
  const random = createRandom(seed, 59);
  if (!random.chance(0.25)) return nothing;
  const draw = random.next();
  if (draw < 0.3) return strangers(random, spanMs);
  return nothing;
}
