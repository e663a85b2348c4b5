import type { OutboxOptions, RelayOptions } from "ichido/outbox";

export const outboxOptions = {
  source: "/storm",
  topics: { "storm.*": { to: "storm" } },
} as const satisfies Omit<OutboxOptions<unknown>, "transactions">;

/** A second stands between two deaths: what takes ten in a calm sea must take one here. */
export const relayOptions = {
  leaseMs: 1_500,
  batch: 100,
  pauseMs: 50,
  pauseMsMax: 500,
  idleMs: 20,
  idleMsMax: 200,
  // Deaths from outside come faster here than a receiver that dies, too, answers: with the default an event that happens to
  // be alone on its way five times would be taken for the culprit.
  crashesMax: 25,
} as const satisfies Omit<RelayOptions, "routes">;
