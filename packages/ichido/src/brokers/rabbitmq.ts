export { rabbitmqPublisher, type RabbitmqPublisherOptions } from "./rabbitmq-publisher.ts";
export { rabbitmqSubscription, type RabbitmqSubscriptionOptions } from "./rabbitmq-subscription.ts";
export { ensureRabbitmqTopology, type RabbitmqTopologyOptions } from "./rabbitmq-topology.ts";
export type {
  AmqpChannel,
  AmqpConfirmChannel,
  AmqpConnect,
  AmqpConnection,
  AmqpMessage,
  AmqpPublishOptions,
} from "./rabbitmq-connection.ts";
