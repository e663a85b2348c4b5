export { rabbitPublisher, type RabbitPublisherOptions } from "./rabbitmq-publisher.ts";
export { rabbitSubscription, type RabbitSubscriptionOptions } from "./rabbitmq-subscription.ts";
export { ensureRabbitTopology, type RabbitTopologyOptions } from "./rabbitmq-topology.ts";
export type {
  AmqpChannel,
  AmqpConfirmChannel,
  AmqpConnect,
  AmqpConnection,
  AmqpMessage,
  AmqpPublishOptions,
} from "./rabbitmq-connection.ts";
