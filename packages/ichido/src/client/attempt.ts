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
  /** When a request may first have left with this key; absent: none has. */
  readonly sentAtMs?: number;
  /** Hash of what was sent. */
  readonly content?: string | undefined;
}

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
  /**
   * Called before the first byte leaves. Answers when a request with this key first left, where one did. Throws
   * `attempt-changed` when the name belongs to another key by now, or when other content was sent before.
   */
  markSent(attempt: Attempt, content?: string): Promise<number | undefined>;
  /** The outcome is definitive. Never fails: a leftover only leads to the same answer again. */
  settle(attempt: Attempt): Promise<void>;
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
        if (kept !== undefined && kept.hash === hash) {
          return { name, key: kept.key, bornAtMs: kept.bornAtMs, resumed: kept.sentAtMs !== undefined };
        }
        const fresh: Kept = { key: checkKey(await keys(payload), parts.warn), hash, bornAtMs: nowMs() };
        await write(name, fresh);
        return { name, key: fresh.key, bornAtMs: fresh.bornAtMs, resumed: false };
      });
    },
    startOver: (name) => guarded(name, async () => void (await storage.removeItem(placeOf(name)))),
    markSent: (attempt, content) =>
      guarded(attempt.name, async () => {
        const kept = await read(attempt.name);
        // Settled elsewhere, or never kept: it may have been sent as early as it was made.
        if (kept === undefined) return attempt.bornAtMs;
        if (kept.key !== attempt.key) {
          throw changed(attempt.name, "was replaced, here or in another tab. Create it again");
        }
        if (kept.sentAtMs === undefined || (content !== undefined && kept.content === undefined)) {
          const sentAtMs = kept.sentAtMs ?? nowMs();
          await write(attempt.name, { ...kept, sentAtMs, content });
        } else if (content !== undefined && kept.content !== content) {
          throw changed(attempt.name, openWithOther);
        }
        return kept.sentAtMs;
      }),
    async settle(attempt) {
      try {
        await guarded(attempt.name, async () => {
          // Another tab may have started over meanwhile: its attempt is not ours to end.
          if ((await read(attempt.name))?.key === attempt.key) await storage.removeItem(placeOf(attempt.name));
        });
      } catch {
        // The outcome is known and must reach the caller.
      }
    },
  };
}
