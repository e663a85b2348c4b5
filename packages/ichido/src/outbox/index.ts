/** `ichido/outbox`: events that commit with the business write, and the relay that sends them. */
export { createOutbox, type AddOptions, type Outbox, type OutboxOptions, type OutboxStats } from "./outbox.ts";
export type { TableOptions } from "../sql/table-prefix.ts";
export type { OutboxMessage } from "./envelope.ts";
export type { TopicRule } from "./topics.ts";
export type { OutboxDeadLetter, OutboxEntry, ParkedKey } from "./database.ts";
export type { OutboxAuditEntry, OutboxDeadLetters, OutboxDecision } from "./dead-letters.ts";
export type { OutboxPause, OutboxPauses } from "./pause.ts";
export type { EventForgetting, ForgottenEvents } from "../sql/forgetting-events.ts";
export {
  pgWake,
  postgresJsWake,
  type PgWakePool,
  type PostgresJsWakeClient,
  type WakeChannel,
} from "./wake-channel.ts";
export type { OutboxSweepResult } from "./sweep.ts";
export { createRelay, type Relay, type RelayHealth, type RelayTickResult } from "./relay.ts";
export type { RelayEvent, RelayOptions } from "./relay-options.ts";
export type { RouteHealth } from "./routes.ts";
export type { Delivery, Published, Publisher, Subscription, Taker, UnreadableDelivery } from "../brokers/broker.ts";
export { payloadOf, type EventMessage } from "../brokers/message.ts";
export type { AppliedMigration, FullPlan, Migrator, PlannedMigration } from "../sql/migrator.ts";
