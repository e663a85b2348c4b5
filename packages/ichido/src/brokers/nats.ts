export { natsPublisher, type NatsPublisherOptions } from "./nats-publisher.ts";
export { natsSubscription } from "./nats-subscription.ts";
export { ensureNatsConsumers, ensureNatsStream, type NatsStreamOptions } from "./nats-stream.ts";
export type { NatsSubscriptionOptions } from "./nats-subscription-options.ts";
export type { NatsConnection, NatsHeaders, NatsMessage, NatsSource } from "./nats-connection.ts";
