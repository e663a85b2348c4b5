/** An attempt: one intent, one key, bound to one payload, kept until its outcome is known. */
import { ClientError } from "./errors.ts";
import { checkKey } from "./key-form.ts";
import { payloadHash, uuidV7, type KeySource } from "./key-source.ts";
import { withLock, type AttemptStorage } from "./storage.ts";

/** What is stored: hashes, never the payload itself. */
interface Kept {
  readonly key: string;
  readonly hash: string;
  readonly bornAtMs: number;
  /** When a request may first have left with this key; absent: none has that could have taken effect. */
  readonly sentAtMs?: number | undefined;
  /** `sentAtMs` is of a send that was announced and has not begun. */
  readonly announced?: true | undefined;
  /** How often it was sent. */
  readonly sends?: number;
  /** Hash of what was sent. */
  readonly content?: string | undefined;
}

export interface Sent {
  /** When a request with this key first left, where one did before. */
  readonly sentAtMs?: number | undefined;
  /** Which send of this key it is. */
  readonly sends: number;
}

/** `refused`: not taken, and the key not used up by it. */
export type Settlement = "done" | "declined" | "refused";

export interface Attempt {
  readonly name: string;
  readonly key: string;
  readonly bornAtMs: number;
  /** A request with this key was sent before, here or before a reload: its outcome may be open. */
  readonly resumed: boolean;
  /** Told before every pause, for "still trying". */
  readonly onRetry?: (told: { readonly tries: number; readonly pauseMs: number }) => void;
}

export interface Attempts {
  /**
   * The open attempt of that name (the intent, such as `checkout:cart-7`), or a new one. Throws `attempt-changed` when one was sent with another payload and its
   * outcome is not known: finish it, or call `startOver`.
   */
  create(name: string, payload: unknown): Promise<Attempt>;
  /** Gives up what is known of the intent: the next attempt of that name has a new key. A person decides this. */
  startOver(name: string): Promise<void>;
  /** Called before a send by somebody who does not know whether the sender itself calls `markSent`. */
  announce(attempt: Attempt): Promise<void>;
  /**
   * Called before the first byte leaves. Throws `attempt-changed` when the name belongs to another key by now, or when
   * other content was sent before.
   */
  markSent(attempt: Attempt, content?: string): Promise<Sent>;
  /**
   * The outcome is definitive. With `sends`: only if nobody sent under this key since that send, whose outcome would be
   * open. Answers whether the key was given up. Never fails: a leftover only leads to the same answer again.
   */
  settle(attempt: Attempt, outcome: Settlement, sends?: number): Promise<boolean>;
}

const placeOf = (name: string): string => `ichido:attempt:${name}`;

function parse(text: string | null | undefined): Kept | undefined {
  try {
    const kept = JSON.parse(text ?? "") as Partial<Kept>;
    const sound = typeof kept.key === "string" && typeof kept.hash === "string" && typeof kept.bornAtMs === "number";
    return sound ? (kept as Kept) : undefined;
  } catch {
    return undefined;
  }
}

const openWithOther =
  "was sent with other content and its outcome is unknown. Use the original, or let the person decide and call startOver()";
const changed = (name: string, what: string): ClientError =>
  new ClientError("attempt-changed", `attempt ${JSON.stringify(name)} ${what}`);

export function createAttempts(parts: {
  readonly storage: AttemptStorage;
  readonly keys?: KeySource;
  readonly nowMs: () => number;
  readonly warn?: (message: string) => void;
}): Attempts {
  const { storage, nowMs } = parts;
  const keys = parts.keys ?? (() => uuidV7(nowMs()));

  /** An attempt that cannot be kept would not survive a reload: better to fail while nothing has been sent. */
  async function stored<T>(verb: string, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new ClientError("storage-failed", `the attempt could not be ${verb}`, { cause });
    }
  }
  const read = (name: string): Promise<Kept | undefined> =>
    stored("read", async () => parse(await storage.getItem(placeOf(name))));
  const write = (name: string, kept: Kept): Promise<unknown> =>
    stored("kept", () => storage.setItem(placeOf(name), JSON.stringify(kept)));
  const readOwn = async ({ name, key }: Attempt): Promise<Kept | undefined> => {
    const kept = await read(name);
    if (kept === undefined || kept.key === key) return kept;
    throw changed(name, "was replaced, here or in another tab. Create it again");
  };
  const guarded = <T>(name: string, work: () => Promise<T>): Promise<T> => withLock(storage, placeOf(name), work);

  return {
    async create(name, payload) {
      if (typeof name !== "string" || name === "") {
        throw new ClientError("option-invalid", "an attempt needs a name");
      }
      const hash = await payloadHash(payload);
      return guarded(name, async () => {
        const kept = await read(name);
        if (kept !== undefined && kept.hash !== hash && kept.sentAtMs !== undefined) {
          throw changed(name, openWithOther);
        }
        if (kept?.hash === hash) {
          return { name, key: kept.key, bornAtMs: kept.bornAtMs, resumed: kept.sentAtMs !== undefined };
        }
        const fresh: Kept = { key: checkKey(await keys(payload), parts.warn), hash, bornAtMs: nowMs() };
        await write(name, fresh);
        return { name, key: fresh.key, bornAtMs: fresh.bornAtMs, resumed: false };
      });
    },
    startOver: (name) => guarded(name, async () => void (await storage.removeItem(placeOf(name)))),
    announce: (attempt) =>
      guarded(attempt.name, async () => {
        const kept = await readOwn(attempt);
        if (kept !== undefined && kept.sentAtMs === undefined) {
          await write(attempt.name, { ...kept, sentAtMs: nowMs(), announced: true });
        }
      }),
    markSent: (attempt, content) =>
      guarded(attempt.name, async () => {
        const kept = await readOwn(attempt);
        // Settled elsewhere, or never kept: it may have been sent as early as it was made.
        if (kept === undefined) return { sentAtMs: attempt.bornAtMs, sends: 1 };
        if (content !== undefined && kept.content !== undefined && kept.content !== content) {
          throw changed(attempt.name, openWithOther);
        }
        const { announced, ...before } = kept;
        const sentAtMs = announced ? undefined : kept.sentAtMs;
        const sends = (kept.sends ?? 0) + 1;
        await write(attempt.name, { content, ...before, sentAtMs: sentAtMs ?? nowMs(), sends });
        return { sentAtMs, sends };
      }),
    async settle(attempt, outcome, sends) {
      const { name } = attempt;
      try {
        return await guarded(name, async () => {
          const kept = await read(name);
          // Another tab may have started over meanwhile: its attempt is not ours to end.
          if (kept?.key !== attempt.key) return true;
          if (sends !== undefined && kept.sends !== sends) return false;
          if (outcome === "refused") await write(name, { ...kept, sentAtMs: undefined, content: undefined });
          else await storage.removeItem(placeOf(name));
          return outcome !== "refused";
        });
      } catch {
        // The outcome is known and must reach the caller.
        return false;
      }
    },
  };
}
