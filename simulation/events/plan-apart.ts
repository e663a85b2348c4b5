/** What is drawn apart, for a quarter of the seeds, one kind for each: every other seed keeps its history. */
import { createRandom, type Random } from "../random.ts";
import type { EventsPlan } from "./plan.ts";

/**
 * Brought to the broker beside the outbox: the id of an event that was processed with another payload, topic, source or
 * content type; a topic that no handler wants; or what is no event.
 */
export type StrangerAs = "payload" | "topic" | "source" | "content-type" | "unwanted" | "unreadable";

export type ItemApart = { readonly atMs: number } & (
  | { readonly kind: "stranger"; readonly as: StrangerAs; readonly which: number }
  /** A person stops all relays, or all consumers, for a while. */
  | { readonly kind: "pause"; readonly of: "outbox" | "inbox"; readonly forMs: number }
  /** The clock of the database. */
  | { readonly kind: "jump"; readonly byMs: number }
);

export interface Apart {
  readonly apart: "none" | "strangers" | "pauses" | "short-lived letters" | "jumps";
  readonly items: readonly ItemApart[];
  /** How long the outbox keeps letters and what was sent, and how often that is swept. Absent: for ever. */
  readonly outboxKeeps?: { readonly deadMs: number; readonly sentMs: number; readonly sweepEveryMs: number };
}

/** What of the usual plan it goes by, or changes. */
type Changed =
  | "replayMs"
  | "leaseMs"
  | "callMs"
  | "busyMs"
  | "onDead"
  | "attemptsMax"
  | "eagerMs"
  | "backoffMs"
  | "parkAfterMs"
  | "handlerAttemptsMax";
type Drawn = Apart & Partial<Pick<EventsPlan, Changed>> & { readonly fails?: number };

const strangerKinds = ["payload", "topic", "source", "content-type", "unwanted", "unwanted", "unreadable"] as const;

function strangers(random: Random, spanMs: number): Drawn {
  const items = Array.from({ length: random.int(2, 6) }, () => ({
    kind: "stranger" as const,
    atMs: spanMs * random.between(0.2, 1),
    as: random.pick(strangerKinds),
    which: random.int(0, 99),
  }));
  return { apart: "strangers", items };
}

/** So long that whoever runs must have noticed, which is soon. Some meet handlers that fail again and again. */
function pauses(random: Random, spanMs: number): Drawn {
  const items = Array.from({ length: random.int(1, 3) }, () => ({
    kind: "pause" as const,
    atMs: spanMs * random.between(0.02, 0.6),
    of: random.pick(["outbox", "inbox"] as const),
    forMs: random.between(2_000, 9_000),
  }));
  const callMs = random.int(100, 170);
  const soon = { replayMs: random.int(200, 600), leaseMs: 1_200, callMs, busyMs: random.int(50, callMs) };
  if (random.chance(0.4)) return { apart: "pauses", items, ...soon };
  const failing = { fails: 0.8, backoffMs: random.int(300, 1_000), parkAfterMs: 1, handlerAttemptsMax: 10 };
  return { apart: "pauses", items, ...soon, ...failing };
}

function shortLivedLetters(random: Random): Drawn {
  return {
    apart: "short-lived letters",
    items: [],
    outboxKeeps: {
      deadMs: random.int(200, 5_000),
      sentMs: random.chance(0.5) ? 0 : random.int(200, 5_000),
      sweepEveryMs: random.int(100, 1_500),
    },
    onDead: random.pick(["park-key", "skip"] as const),
    attemptsMax: 1,
    eagerMs: undefined,
  };
}

/**
 * Forward so far that a sweep must see it, or back. What lies between is for the user to prevent: `retentionMs` tells how
 * far clocks may be apart.
 */
function jumps(random: Random, spanMs: number): Drawn {
  const items = Array.from({ length: random.int(1, 3) }, () => ({
    kind: "jump" as const,
    atMs: spanMs * random.between(0.1, 0.9),
    byMs: random.chance(0.6) ? random.int(610_000, 4_000_000) : -random.int(100, 10_000),
  }));
  return { apart: "jumps", items };
}

const nothing: Drawn = { apart: "none", items: [] };

export function apartOf(seed: number, { spanMs }: { readonly spanMs: number }): Drawn {
  const random = createRandom(seed, 59);
  if (!random.chance(0.25)) return nothing;
  const draw = random.next();
  if (draw < 0.3) return strangers(random, spanMs);
  if (draw < 0.56) return pauses(random, spanMs);
  if (draw > 0.6 && draw < 0.8) return shortLivedLetters(random);
  if (draw > 0.81) return jumps(random, spanMs);
  // These stay as they were as well: tests tell of some.
  return nothing;
}
