/**
 * Runs scripts by their digest, with the text where the server does not know it (a restart, a failover, SCRIPT FLUSH),
 * within a deadline, and repeats what may be repeated.
 */
import { around, doubledMs } from "../../core/contract/jitter.ts";
import { createHash } from "node:crypto";
import { withDeadline } from "../../core/contract/deadline.ts";
import type { Environment } from "../../core/contract/environment.ts";
import type { RedisArgument } from "../../drivers/redis/client.ts";
import { createDeadlines } from "./deadlines.ts";
import { failureKind, toIchidoError } from "../../drivers/redis/failures.ts";
import type { Link } from "../../drivers/redis/link.ts";
import { statements } from "./statements.generated.ts";

export type Verb = keyof typeof statements;

/**
 * What may be sent again when it is not known whether it was done. A settlement cannot tell its own trace from that of
 * another settlement; every other script recognises its own.
 */
const once: ReadonlySet<Verb> = new Set(["settle"]);

/**
 * What ends a record may go beyond `maxmemory`: its bytes are bounded by the requests that run, and refusing them would
 * leave the outcome of done work unknown. A server older than 7.0 does not know the flag and refuses as before.
 */
const beyondMemory: ReadonlySet<Verb> = new Set([
  "complete",
  "release",
  "suspend",
  "renew",
  "finishStep",
  "settle",
  "tell",
]);
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
  /** What arrives after its caller has stopped waiting. */
  readonly onLate?: ((reply: unknown) => void) | undefined;
}

const asIs = (reply: unknown): unknown => reply;

export interface ScriptParts {
  readonly link: Link;
  readonly environment: Environment;
  readonly callTimeoutMs: number;
  /** What must be true before anything is sent; nothing when it is known to be. */
  readonly ready: () => Promise<void> | undefined;
  readonly onFailure: () => void;
}

export interface Scripts {
  run(verb: Verb, key: string, args: readonly RedisArgument[]): Promise<unknown>;
  /** The same for what every request does: the reply is decoded on the way, without another promise. */
  runDecoded<Value>(
    verb: Verb,
    key: string,
    args: readonly RedisArgument[],
    decode: (reply: unknown) => Value | Promise<Value>,
    onLate?: (reply: unknown) => void,
    /** In place of `decode` where it was sent more than once. */
    decodeAgain?: (reply: unknown) => Value | Promise<Value>,
  ): Promise<Value>;
  /** The same pair of commands, for a caller that sends them together with others. */
  command(verb: Verb, key: string, args: readonly RedisArgument[], form: "digest" | "text"): readonly RedisArgument[];
  /** Any command, with deadline and repetition. */
  repeat<Value>(verb: string, repeatable: boolean, call: Call, send: () => Promise<Value>): Promise<Value>;
  /** The same without asking whether the store is ready: for finding that out. */
  repeatAnyway<Value>(verb: string, repeatable: boolean, call: Call, send: () => Promise<Value>): Promise<Value>;
}

export function createScripts({ link, environment, callTimeoutMs, ready, onFailure }: ScriptParts): Scripts {
  const deadlines = createDeadlines(environment, callTimeoutMs);

  function command(verb: Verb, key: string, args: readonly RedisArgument[], form: "digest" | "text"): RedisArgument[] {
    const script = scripts.get(verb);
    if (script === undefined) throw new TypeError(`no script is called ${verb}`);
    return form === "digest" ? ["evalsha", script.digest, "1", key, ...args] : ["eval", script.text, "1", key, ...args];
  }

  function send(verb: Verb, key: string, args: readonly RedisArgument[]): Promise<unknown> {
    try {
      return link.sendTo(key, command(verb, key, args, "digest"));
    } catch (error) {
      return Promise.reject(error as Error);
    }
  }

  /** After a refusal that another form of the same script does not meet; any other error goes on. */
  async function sendOtherwise(
    verb: Verb,
    key: string,
    args: readonly RedisArgument[],
    error: unknown,
  ): Promise<unknown> {
    const kind = failureKind(error);
    if (kind === "no-script") {
      try {
        return await link.sendTo(key, command(verb, key, args, "text"));
      } catch (second) {
        if (failureKind(second) !== "out-of-memory") throw second;
        return sendBeyond(verb, key, args, second);
      }
    }
    if (kind === "out-of-memory") return sendBeyond(verb, key, args, error);
    throw error;
  }

  async function sendBeyond(
    verb: Verb,
    key: string,
    args: readonly RedisArgument[],
    refusal: unknown,
  ): Promise<unknown> {
    if (!beyondMemory.has(verb)) throw refusal;
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
    timeoutMs = callTimeoutMs,
  ): Promise<Value> {
    const untilMs = environment.monotonicMs() + timeoutMs;
    for (let tries = 1; ; tries += 1) {
      const leftMs = Math.max(1, untilMs - environment.monotonicMs());
      try {
        return await withDeadline(environment, leftMs, attempt, call.onLate);
      } catch (error) {
        const kind = failureKind(error);
        const again = kind === "passing" || (kind === "lost" && repeatable);
        const pauseMs = around(environment, doubledMs(pauseMsFirst, tries));
        if (!again || tries >= triesMax || environment.monotonicMs() + pauseMs >= untilMs) {
          onFailure();
          throw toIchidoError(error, verb);
        }
        await new Promise<void>((resolve) => environment.after(pauseMs, resolve, { hold: true }));
      }
    }
  }

  /** The first attempt has failed: what is left of the time goes to other forms and further attempts. */
  function recover(
    error: unknown,
    startedMs: number,
    verb: Verb,
    key: string,
    args: readonly RedisArgument[],
    call: Call,
  ): Promise<unknown> {
    let failure: { readonly error: unknown } | undefined = { error };
    const attempt = async (): Promise<unknown> => {
      const last = failure;
      failure = undefined;
      if (last !== undefined) return sendOtherwise(verb, key, args, last.error);
      try {
        return await send(verb, key, args);
      } catch (again) {
        return sendOtherwise(verb, key, args, again);
      }
    };
    const passedMs = environment.monotonicMs() - startedMs;
    return repeat(verb, !once.has(verb), call, attempt, Math.max(1, callTimeoutMs - passedMs));
  }

  /** Few promises on the way that every request takes; the long way begins with a failure. */
  function start<Value>(
    verb: Verb,
    key: string,
    args: readonly RedisArgument[],
    decode: (reply: unknown) => Value | Promise<Value>,
    onLate?: (reply: unknown) => void,
    decodeAgain = decode,
  ): Promise<Value> {
    // A single command leaves at once; several commands of one task leave together.
    if (deadlines.busy) link.gather?.();
    return deadlines.bound(send(verb, key, args), {
      decode,
      recover: (error, startedMs) => recover(error, startedMs, verb, key, args, { onLate }).then(decodeAgain),
      onLate,
    });
  }

  function runDecoded<Value>(
    verb: Verb,
    key: string,
    args: readonly RedisArgument[],
    decode: (reply: unknown) => Value | Promise<Value>,
    onLate?: (reply: unknown) => void,
    decodeAgain = decode,
  ): Promise<Value> {
    const waiting = ready();
    if (waiting === undefined) return start(verb, key, args, decode, onLate, decodeAgain);
    return waiting.then(() => start(verb, key, args, decode, onLate, decodeAgain));
  }

  return {
    command,
    repeat: async (verb, repeatable, call, attempt) => {
      await ready();
      return repeat(verb, repeatable, call, attempt);
    },
    repeatAnyway: repeat,
    run: (verb, key, args) => runDecoded(verb, key, args, asIs),
    runDecoded,
  };
}
