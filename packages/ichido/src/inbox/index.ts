/** `ichido/inbox`: messages take effect once. Brokers have subpaths of their own. */
export { createInbox, type Inbox, type InboxOptions, type OnceOptions, type RunOptions } from "./inbox.ts";
export type { TableOptions } from "../sql/table-prefix.ts";
export type { InboxOutcome, InboxResult, OnceContext, OnceHandler } from "./run-once.ts";
export type { LeasedContext, LeasedHandler, LeasedOptions } from "./run-leased.ts";
export type {
  InboxDecision,
  InboxDeadLetterQuery,
  InboxReplay,
  InboxDeadReason,
  InboxAuditEntry,
  InboxDeadLetter,
  InboxDeadLetters,
} from "./dead-letters.ts";
export {
  consumerDefaults,
  createConsumer,
  type Consumer,
  type ConsumerEvent,
  type ConsumerHealth,
  type ConsumerOptions,
} from "./consumer.ts";
export type { ConsumerHandler, Unhandled } from "./handlers.ts";
export type { InboxPause, InboxPauses } from "./pause.ts";
export type { EventForgetting, ForgottenEvents } from "../sql/forgetting-events.ts";
export {
  createWebhookReceiver,
  type WebhookEvent,
  type WebhookReceiver,
  type WebhookReceiverOptions,
} from "./webhook-receiver.ts";
export type { InboxEntry, InboxStats, InboxSweepResult, InboxSweepBounds } from "./housekeeping.ts";
export { payloadOf, type EventMessage } from "../brokers/message.ts";
export type { AppliedMigration, FullPlan, Migrator, PlannedMigration } from "../sql/migrator.ts";
