/** The same in every process of the crash tests. */
import type { OutboxOptions, RelayOptions } from "ichido/outbox";

export const outboxOptions = {
  source: "/shop",
  topics: { "order.*": { to: "wire" }, "mail.*": { to: "wire", order: "none" } },
} as const satisfies Omit<OutboxOptions<unknown>, "transactions">;

export const relayOptions = {
  leaseMs: 800,
  batch: 20,
  concurrency: 4,
  idleMs: 10,
  idleMsMax: 50,
  backoffMs: 50,
  backoffMsMax: 400,
} as const satisfies Omit<RelayOptions, "routes">;

/** What a process of the crash tests is told. */
export interface RelayLife {
  /** How long the broker takes for an event. */
  readonly sendMs: number;
  /** The id of an event that ends the process. */
  readonly deadly?: string;
  /** Stops itself (SIGSTOP) after so many events: while no transaction is open, or at the end of one of the relay's. */
  readonly freezes?: "outside" | "inside";
  readonly freezesAfter?: number;
  readonly relay?: Pick<RelayOptions, "leaseMs" | "batch" | "concurrency" | "crashesMax">;
}
