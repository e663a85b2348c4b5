/**
 * Runs scripts by their digest, with the text where the server does not know it (a restart, a failover, SCRIPT FLUSH),
 * within a deadline, and repeats what may be repeated.
 */
import { createHash } from "node:crypto";
import { withDeadline } from "../../core/deadline.ts";
import { fraction } from "../../core/environment.ts";
import type { Environment } from "../../core/environment.ts";
import type { RedisArgument } from "./client.ts";
import { failureKind, toIchidoError } from "./failures.ts";
import type { Link } from "./link.ts";
import { statements } from "./statements.generated.ts";

export type Verb = keyof typeof statements;

/**
 * What may be sent again when it is not known whether it was done. A settlement cannot tell its own trace from somebody
 * else's; everything else recognises itself.
 */
const once: ReadonlySet<Verb> = new Set(["settle"]);

/**
 * What ends a record may go beyond `maxmemory`: its bytes are bounded by the requests that run, and refusing them would
 * leave the outcome of done work unknown. A server older than 7.0 does not know the flag and refuses as before.
 */
const beyondMemory: ReadonlySet<Verb> = new Set(["complete", "release", "suspend", "renew", "finishStep", "settle"]);
const allowOom = "#!lua flags=allow-oom\n";

const triesMax = 8;
const pauseMsFirst = 10;

interface Script {
  readonly text: string;
  readonly digest: string;
}

const scripts = new Map<Verb, Script>(
  Object.entries(statements).map(([verb, text]) => [
    verb as Verb,
    { text, digest: createHash("sha1").update(text).digest("hex") },
  ]),
);

export interface Call {
  readonly timeoutMs?: number;
  /** What arrives when nobody waits for it any more. */
  readonly onLate?: (reply: unknown) => void;
}

export interface Scripts {
  run(verb: Verb, key: string, args: readonly RedisArgument[], call?: Call): Promise<unknown>;
  /** The same pair of commands, for whoever sends them together with others. */
  command(verb: Verb, key: string, args: readonly RedisArgument[], form: "digest" | "text"): readonly RedisArgument[];
  /** Any command, with deadline and repetition. */
  repeat<Value>(verb: string, repeatable: boolean, call: Call, send: () => Promise<Value>): Promise<Value>;
}

export function createScripts(link: Link, environment: Environment, callTimeoutMs: number): Scripts {
  function command(verb: Verb, key: string, args: readonly RedisArgument[], form: "digest" | "text"): RedisArgument[] {
    const script = scripts.get(verb);
    if (script === undefined) throw new TypeError(`no script is called ${verb}`);
    return form === "digest" ? ["evalsha", script.digest, "1", key, ...args] : ["eval", script.text, "1", key, ...args];
  }

  async function send(verb: Verb, key: string, args: readonly RedisArgument[]): Promise<unknown> {
    try {
      return await link.sendTo(key, command(verb, key, args, "digest"));
    } catch (error) {
      const kind = failureKind(error);
      if (kind === "no-script") return sendText(verb, key, args);
      if (kind === "out-of-memory" && beyondMemory.has(verb)) return sendBeyond(verb, key, args, error);
      throw error;
    }
  }

  async function sendText(verb: Verb, key: string, args: readonly RedisArgument[]): Promise<unknown> {
    try {
      return await link.sendTo(key, command(verb, key, args, "text"));
    } catch (error) {
      if (failureKind(error) !== "out-of-memory" || !beyondMemory.has(verb)) throw error;
      return sendBeyond(verb, key, args, error);
    }
  }

  async function sendBeyond(
    verb: Verb,
    key: string,
    args: readonly RedisArgument[],
    refusal: unknown,
  ): Promise<unknown> {
    try {
      return await link.sendTo(key, ["eval", allowOom + statements[verb], "1", key, ...args]);
    } catch (error) {
      throw failureKind(error) === "refused" ? refusal : error;
    }
  }

  async function repeat<Value>(
    verb: string,
    repeatable: boolean,
    call: Call,
    attempt: () => Promise<Value>,
  ): Promise<Value> {
    const untilMs = environment.monotonicMs() + (call.timeoutMs ?? callTimeoutMs);
    for (let tries = 1; ; tries += 1) {
      const leftMs = Math.max(1, untilMs - environment.monotonicMs());
      try {
        return await withDeadline(environment, leftMs, attempt, call.onLate);
      } catch (error) {
        const kind = failureKind(error);
        const again = kind === "passing" || (kind === "lost" && repeatable);
        const pauseMs = pauseMsFirst * 2 ** (tries - 1) * (0.5 + fraction(environment));
        if (!again || tries >= triesMax || environment.monotonicMs() + pauseMs >= untilMs) {
          throw toIchidoError(error, verb);
        }
        await new Promise<void>((resolve) => environment.after(pauseMs, resolve, { hold: true }));
      }
    }
  }

  return {
    command,
    repeat,
    run: (verb, key, args, call = {}) => repeat(verb, !once.has(verb), call, () => send(verb, key, args)),
  };
}
