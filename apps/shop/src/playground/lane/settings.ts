/** What the supervisor tells a lane by its environment. */
import { SettingsReader } from "../../environment.ts";

export function readLaneSettings() {
  const settings = new SettingsReader(process.env);
  const read = {
    folder: settings.text("LANE_DATA") ?? ".",
    port: settings.integer("LANE_PORT", { fallback: 0, min: 0, max: 65_535 }),
    databaseUrl: settings.text("LANE_DATABASE_URL"),
    bankUrl: settings.httpUrl("LANE_BANK_URL") ?? "",
    leaseMs: settings.integer("LANE_LEASE_MS", { fallback: 2_000, min: 50, max: 60_000 }),
    retentionMs: settings.integer("LANE_RETENTION_MS", { fallback: 86_400_000, min: 100, max: 86_400_000 }),
    onUnknown: settings.oneOf("LANE_ON_UNKNOWN", ["verify", "rerun", "hold"]),
    keysApart: settings.oneOf("LANE_KEYS_APART", ["no", "yes"]) === "yes",
    redisUrl: settings.text("LANE_REDIS_URL"),
    allowEviction: settings.oneOf("LANE_EVICTION", ["refuse", "allow"]) === "allow",
    withoutStore: settings.oneOf("LANE_WITHOUT_STORE", ["refuse", "run"]),
  };
  settings.finish();
  return read;
}
