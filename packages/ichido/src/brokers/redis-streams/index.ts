/** `ichido/redis-streams`: events over Redis Streams, with the user's own `ioredis` or `redis` client. */
export { ensureRedisGroups, trimRedisStreams } from "./groups.ts";
export type { RedisGroupOptions, RedisTrimOptions } from "./groups.ts";
export type { RedisPublisherOptions, RedisStreamsLayout, RedisSubscriptionOptions } from "./options.ts";
export { redisStreamsPublisher } from "./publisher.ts";
export { redisStreamsSubscription } from "./subscription.ts";
