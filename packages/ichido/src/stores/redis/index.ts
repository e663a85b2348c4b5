export { redisStore } from "./store.ts";
export type { RedisStore } from "./store.ts";
export type { RedisStoreOptions } from "./options.ts";
export type {
  IoredisClient,
  IoredisCluster,
  NodeRedisClient,
  NodeRedisCluster,
  RedisClient,
} from "../../drivers/redis/client.ts";
