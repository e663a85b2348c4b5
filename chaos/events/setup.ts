/** What a process of the events' fleet is told when it starts. */
import type { BrokerKind } from "../../test/events/storm-brokers.ts";
import type { Setup, StoreName } from "../setup.ts";

export const brokerNames = ["nats", "rabbitmq", "redis-streams"] as const satisfies readonly BrokerKind[];
export type BrokerName = (typeof brokerNames)[number];

/** Those that can hold outbox, inbox and the rows of handlers. */
export const eventStores = ["sqlite", "postgres", "postgres-js", "mariadb"] as const satisfies readonly StoreName[];

export const roles = ["writer", "relay", "consumer"] as const;
export type Role = (typeof roles)[number];

export interface EventsSetup extends Pick<Setup, "store" | "url" | "banks" | "slackMs"> {
  readonly role: Role | "desk";
  readonly broker: BrokerName;
  readonly brokerUrl: string;
  /** An inbox that looks first and notes after the handler, in place of ichido's. */
  readonly naive: boolean;
}

export const readEventsSetup = (): EventsSetup => JSON.parse(process.argv[2] ?? "{}") as EventsSetup;
