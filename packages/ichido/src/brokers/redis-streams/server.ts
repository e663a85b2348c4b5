/** The user's client as this room uses it: commands and scripts within a deadline. */
import { createHash } from "node:crypto";
import { withDeadline } from "../../core/contract/deadline.ts";
import type { Environment } from "../../core/contract/environment.ts";
import { kindOf, type RedisArgument, type RedisClient } from "../../drivers/redis/client.ts";
import { replyCodeOf, toIchidoError } from "../../drivers/redis/failures.ts";
import { linkOf, type Link } from "../../drivers/redis/link.ts";
import { statements } from "./statements.generated.ts";

export type Script = keyof typeof statements;

const digests = new Map(
  Object.entries(statements).map(([name, text]) => [name, createHash("sha1").update(text).digest("hex")]),
);

export interface Server {
  readonly link: Link;
  send(key: string, args: readonly RedisArgument[]): Promise<unknown>;
  run(script: Script, key: string, args: readonly RedisArgument[]): Promise<unknown>;
  /** The same two without a deadline, for callers that have one. */
  call(key: string, args: readonly RedisArgument[]): Promise<unknown>;
  callScript(script: Script, key: string, args: readonly RedisArgument[]): Promise<unknown>;
}

export function serverOf(client: RedisClient, environment: Environment, timeoutMs: number): Server {
  const link = linkFor(client);
  let running = 0;
  async function call(key: string, args: readonly RedisArgument[]): Promise<unknown> {
    // A single command leaves at once; several commands of one task leave together.
    if (running > 0) link.gather?.();
    running += 1;
    try {
      return await link.sendTo(key, args);
    } finally {
      running -= 1;
    }
  }
  async function callScript(script: Script, key: string, args: readonly RedisArgument[]): Promise<unknown> {
    try {
      return await call(key, ["evalsha", digests.get(script) ?? "", "1", key, ...args]);
    } catch (error) {
      if (replyCodeOf(error) !== "NOSCRIPT") throw error;
      return call(key, ["eval", statements[script], "1", key, ...args]);
    }
  }
  const send = (key: string, args: readonly RedisArgument[]): Promise<unknown> =>
    withDeadline(environment, timeoutMs, () => call(key, args));
  return {
    link,
    call,
    send,
    callScript,
    run: (script, key, args) => withDeadline(environment, timeoutMs, () => callScript(script, key, args)),
  };
}

export function linkFor(client: RedisClient): Link {
  return linkOf(kindOf(client));
}

/** What the driver says may quote arguments, and so payloads: only the code and our own words go on. */
export function failureOf(error: unknown, verb: string): Error {
  const { message, cause } = toIchidoError(error, verb);
  return new Error(message, { cause });
}
