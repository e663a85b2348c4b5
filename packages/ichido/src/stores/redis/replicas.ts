/**
 * A script followed by WAIT. WAIT speaks for the writes of its own connection, and a driver that reconnects between the
 * two would ask a connection that never wrote, which answers at once that all is well. So the connection's id is asked
 * before and after, all four commands written together: only equal ids make the count mean anything.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import type { RedisArgument } from "../../drivers/redis/client.ts";
import { failureKind } from "../../drivers/redis/failures.ts";
import type { Link } from "../../drivers/redis/link.ts";
import { numberOf } from "../../drivers/redis/reply.ts";
import type { Scripts, Verb } from "./scripts.ts";

export interface Replication {
  readonly replicas: number;
  readonly timeoutMs: number;
}

export interface Replicated {
  readonly reply: unknown;
  /** Enough replicas have it. */
  readonly safe: boolean;
}

export async function runReplicated(
  link: Link,
  scripts: Scripts,
  { replicas, timeoutMs }: Replication,
  verb: Verb,
  key: string,
  args: readonly RedisArgument[],
): Promise<Replicated> {
  const together = async (form: "digest" | "text"): Promise<Replicated> => {
    const [before, reply, count, after] = await Promise.all([
      link.send(["client", "id"]),
      link.send(scripts.command(verb, key, args, form)),
      link.send(["wait", String(replicas), String(timeoutMs)]),
      link.send(["client", "id"]),
    ]);
    return { reply, safe: numberOf(before) === numberOf(after) && numberOf(count) >= replicas };
  };
  return scripts.repeat(verb, true, {}, async () => {
    try {
      return await together("digest");
    } catch (error) {
      if (failureKind(error) !== "no-script") throw error;
      return together("text");
    }
  });
}

export function tooFewReplicas(verb: string, { replicas, timeoutMs }: Replication): IchidoError {
  return new IchidoError(
    "store-unavailable",
    `Redis, ${verb}: fewer than ${replicas} replicas had the write within ${timeoutMs} ms; it does not count`,
  );
}
