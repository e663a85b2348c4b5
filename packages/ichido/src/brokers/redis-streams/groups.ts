/** Groups made, and streams shortened, on the operator's word. */
import { integer, oneOf, readOptions } from "../../core/contract/read-options.ts";
import { systemEnvironment } from "../../core/contract/environment.ts";
import type { RedisClient } from "../../drivers/redis/client.ts";
import { replyCodeOf } from "../../drivers/redis/failures.ts";
import { numberOf } from "../../drivers/redis/reply.ts";
import { agree, streamsOf } from "./layout.ts";
import { groupOf, layoutTable, type Layout, type RedisStreamsLayout } from "./options.ts";
import { serverOf, type Server } from "./server.ts";

const callTimeoutMs = 10_000;
const trimmedMaxDefault = 10_000;

export interface RedisStreamsGroupOptions extends RedisStreamsLayout {
  readonly group: string;
  /** Where a new group begins: with what the streams hold already, or with what is added from now on. Default `start`. */
  readonly from?: "start" | "end";
}

/** Makes the group on every stream where it does not exist yet. A subscription does so by itself, from the start. */
export async function ensureRedisStreamsGroup(client: RedisClient, options: RedisStreamsGroupOptions): Promise<void> {
  const table = { ...layoutTable, group: groupOf, from: oneOf(["start", "end"], "start") };
  const layout = readOptions("ensureRedisStreamsGroup", options, table);
  await prepareGroups(serverOf(client, systemEnvironment, callTimeoutMs), layout, layout.group, layout.from);
}

export async function prepareGroups(
  server: Server,
  layout: Layout,
  group: string,
  from: "start" | "end",
): Promise<void> {
  await agree(server, layout);
  await Promise.all(
    streamsOf(layout).map(async (stream) => {
      try {
        await server.send(stream, ["xgroup", "CREATE", stream, group, from === "start" ? "0" : "$", "MKSTREAM"]);
      } catch (error) {
        if (replyCodeOf(error) !== "BUSYGROUP") throw error;
      }
    }),
  );
}

export interface RedisStreamsTrimOptions extends RedisStreamsLayout {
  /** Entries of each stream removed at most by one call. Default 10 000. */
  readonly entriesMax?: number;
}

/**
 * Removes entries that all groups have acknowledged, and says how many. An entry that any group has not acknowledged stays,
 * as does all of a stream without groups. Call it from time to time; streams are never shortened otherwise.
 */
export async function trimRedisStreams(client: RedisClient, options: RedisStreamsTrimOptions = {}): Promise<number> {
  const table = { ...layoutTable, entriesMax: integer(1, 1_000_000, trimmedMaxDefault) };
  const { entriesMax, ...layout } = readOptions("trimRedisStreams", options, table);
  const server = serverOf(client, systemEnvironment, callTimeoutMs);
  let removed = 0;
  for (const stream of streamsOf(layout)) removed += numberOf(await server.run("trim", stream, [String(entriesMax)]));
  return removed;
}
