/** Which streams there are, and a check that publishers and subscriptions mean the same ones. */
import { IchidoError } from "../../core/contract/errors.ts";
import { optionalTextOf } from "../../drivers/redis/reply.ts";
import type { EventMessage } from "../message.ts";
import { partitionOf } from "../partition.ts";
import type { Layout } from "./options.ts";
import type { Server } from "./server.ts";

/** No command names two of these: in a cluster each may lie on another server. */
export function streamsOf({ stream, partitions }: Layout): readonly string[] {
  return Array.from({ length: partitions }, (_, partition) => `${stream}:${partition}`);
}

/** An event without a key keeps order with nothing and goes anywhere. */
export function streamFor({ stream, partitions }: Layout, { key, id }: EventMessage): string {
  return `${stream}:${partitionOf(key ?? id, partitions)}`;
}

export function wakeChannelOf(stream: string): string {
  return `${stream}:wake`;
}

/** With another count of partitions, events would lie where no consumer looks, or lose their order. */
export async function agree(server: Server, layout: Layout): Promise<void> {
  const key = `${layout.stream}:partitions`;
  const mine = String(layout.partitions);
  await server.send(key, ["set", key, mine, "NX"]);
  const written = optionalTextOf(await server.send(key, ["get", key]));
  if (written !== undefined && written !== mine)
    throw new IchidoError(
      "option-invalid",
      `Redis stream ${layout.stream} has ${written} partitions, but this side was given ${mine}: give both sides the same number, or another stream name (to change it, let all groups read to the end, then delete ${key})`,
    );
}
