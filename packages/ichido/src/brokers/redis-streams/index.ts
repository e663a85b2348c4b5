/** `ichido/redis-streams`: events over Redis Streams, with the user's own `ioredis` or `redis` client. */
export { ensureRedisStreamsGroup, trimRedisStreams } from "./groups.ts";
export type { RedisStreamsGroupOptions, RedisStreamsTrimOptions } from "./groups.ts";
export type { RedisStreamsPublisherOptions, RedisStreamsLayout, RedisStreamsSubscriptionOptions } from "./options.ts";
export { redisStreamsPublisher } from "./publisher.ts";
export { redisStreamsSubscription } from "./subscription.ts";
