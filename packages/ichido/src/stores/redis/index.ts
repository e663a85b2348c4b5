export { redisStore } from "./store.ts";
export type { RedisStore } from "./store.ts";
export { sqlMarker } from "./marker/sql-marker.ts";
export type { Marker, MarkerDatabase } from "./marker/sql-marker.ts";
export type { RedisStoreOptions } from "./options.ts";
export type { IoredisClient, IoredisCluster, NodeRedisClient, NodeRedisCluster, RedisClient } from "./client.ts";
