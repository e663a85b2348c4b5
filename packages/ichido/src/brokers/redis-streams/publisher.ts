/**
 * XADD to the stream of the event's partition. Redis 7 has no dedup id for streams: an event whose answer was lost is
 * added twice, and the inbox drops the second one. Entries are never trimmed here: one that no group has read yet would
 * be lost.
 */
import { IchidoError, isIchidoError } from "../../core/contract/errors.ts";
import { withDeadline } from "../../core/contract/deadline.ts";
import type { RedisArgument, RedisClient } from "../../drivers/redis/client.ts";
import { replyCodeOf } from "../../drivers/redis/failures.ts";
import { numberOf } from "../../drivers/redis/reply.ts";
import type { Published, Publisher } from "../broker.ts";
import type { EventMessage } from "../message.ts";
import { fieldsOf } from "./entry.ts";
import { agree, streamFor, wakeChannelOf } from "./layout.ts";
import { resolvePublisher, type RedisStreamsPublisherOptions } from "./options.ts";
import { failureOf, linkFor, serverOf, type Server } from "./server.ts";

/** A subscription that was woken looks again after 5 ms anyway. */
const wakeEveryMs = 5;

export function redisStreamsPublisher(client: RedisClient, options: RedisStreamsPublisherOptions = {}): Publisher {
  const settings = resolvePublisher(options, linkFor(client).cluster);
  const { environment, callTimeoutMs, payloadBytesMax, wait, notify } = settings;
  const server = serverOf(client, environment, callTimeoutMs);
  const wokenMs = new Map<string, number>();
  let agreed: Promise<void> | undefined;

  function agreement(): Promise<void> {
    agreed ??= agree(server, settings).catch((error: unknown) => {
      agreed = undefined;
      throw error;
    });
    return agreed;
  }

  function wake(stream: string): void {
    const nowMs = environment.monotonicMs();
    if (!notify || nowMs - (wokenMs.get(stream) ?? -Infinity) < wakeEveryMs) return;
    wokenMs.set(stream, nowMs);
    const channel = wakeChannelOf(stream);
    // Only a hint: subscriptions look by themselves, too.
    server.send(channel, ["publish", channel, ""]).catch(() => undefined);
  }

  async function add(message: EventMessage): Promise<void> {
    await agreement();
    const stream = streamFor(settings, message);
    const command = ["xadd", stream, "*", ...fieldsOf(message)];
    if (wait === undefined) await server.call(stream, command);
    else await addReplicated(server, command, wait);
    wake(stream);
  }

  return {
    name: settings.name,
    async publish(message): Promise<Published> {
      if (message.payload.length > payloadBytesMax) {
        const error = new IchidoError(
          "message-invalid",
          `the payload of ${message.id} has ${message.payload.length} bytes, more than payloadBytesMax (${payloadBytesMax})`,
        );
        return { outcome: "rejected", error };
      }
      try {
        await withDeadline(environment, callTimeoutMs, () => add(message));
        return { outcome: "sent" };
      } catch (error) {
        return { outcome: isRefusal(error) ? "rejected" : "unavailable", error: failureOf(error, "xadd") };
      }
    },
    close: async () => undefined,
  };
}

/**
 * WAIT speaks for the writes of its own connection, and a driver that reconnects between the two would ask one that never
 * wrote. So the connection's id is asked before and after, all written together: only equal ids make the count mean anything.
 */
async function addReplicated(
  { link }: Server,
  command: readonly RedisArgument[],
  { replicas, timeoutMs }: { readonly replicas: number; readonly timeoutMs: number },
): Promise<void> {
  const [before, , count, after] = await Promise.all([
    link.send(["client", "id"]),
    link.send(command),
    link.send(["wait", String(replicas), String(timeoutMs)]),
    link.send(["client", "id"]),
  ]);
  if (numberOf(before) === numberOf(after) && numberOf(count) >= replicas) return;
  throw new IchidoError(
    "store-unavailable",
    `Redis, xadd: fewer than ${replicas} replicas had the event within ${timeoutMs} ms; it will be added again`,
  );
}

/** Whether this very event, or the key it goes to, is at fault. A bare ERR says nothing by its code, so its words must. */
function isRefusal(error: unknown): boolean {
  if (isIchidoError(error) || !(error instanceof Error)) return false;
  const code = replyCodeOf(error);
  return code === "WRONGTYPE" || (code === "ERR" && /too (?:large|big|long)/i.test(error.message));
}
