/** An attempt: one intent, one key, bound to one payload, kept until its outcome is known. */
import { ClientError } from "./errors.ts";
import { payloadHash, uuidV7, type KeySource } from "./key-source.ts";
import { withLock, type AttemptStorage } from "./storage.ts";

/** What is stored: never the payload itself. */
interface Kept {
  readonly key: string;
  readonly hash: string;
  readonly bornAtMs: number;
  /** Whether a request may have left with this key. */
  readonly sent: boolean;
}

export interface Attempt {
  readonly name: string;
  readonly key: string;
  readonly bornAtMs: number;
  /** A request with this key was sent before, here or before a reload: its outcome may be open. */
  readonly resumed: boolean;
}

export interface Attempts {
  /**
   * The open attempt of that name, or a new one. Throws `attempt-changed` when one was sent with another payload and its
   * outcome is not known: finish it, or call `startOver`.
   */
  create(name: string, payload: unknown): Promise<Attempt>;
  /** Gives up what is known of the intent: the next attempt of that name has a new key. A person decides this. */
  startOver(name: string): Promise<void>;
  /** Called before the first byte leaves. */
  markSent(attempt: Attempt): Promise<void>;
  /** The outcome is definitive. */
  settle(attempt: Attempt): Promise<void>;
}

const placeOf = (name: string): string => `ichido:attempt:${name}`;

function parse(text: string | null | undefined): Kept | undefined {
  if (text === null || text === undefined) return undefined;
  try {
    const kept = JSON.parse(text) as Partial<Kept>;
    const sound = typeof kept.key === "string" && typeof kept.hash === "string" && typeof kept.bornAtMs === "number";
    return sound ? (kept as Kept) : undefined;
  } catch {
    return undefined;
  }
}

export function createAttempts(parts: {
  readonly storage: AttemptStorage;
  readonly keys?: KeySource;
  readonly nowMs: () => number;
}): Attempts {
  const { storage, nowMs } = parts;
  const keys = parts.keys ?? (() => uuidV7(nowMs()));

  const read = async (name: string): Promise<Kept | undefined> => parse(await storage.getItem(placeOf(name)));
  const write = async (name: string, kept: Kept): Promise<void> => {
    await storage.setItem(placeOf(name), JSON.stringify(kept));
  };
  const guarded = <T>(name: string, work: () => Promise<T>): Promise<T> => withLock(placeOf(name), work);

  return {
    create(name, payload) {
      return guarded(name, async () => {
        const hash = await payloadHash(payload);
        const kept = await read(name);
        if (kept !== undefined && kept.hash !== hash && kept.sent) {
          throw new ClientError(
            "attempt-changed",
            `attempt ${JSON.stringify(name)} was sent with another payload and its outcome is not known. Ask for it again with ` +
              "the original payload, or let the person decide and call startOver()",
          );
        }
        if (kept !== undefined && kept.hash === hash) {
          return { name, key: kept.key, bornAtMs: kept.bornAtMs, resumed: kept.sent };
        }
        const fresh: Kept = { key: await keys(payload), hash, bornAtMs: nowMs(), sent: false };
        await write(name, fresh);
        return { name, key: fresh.key, bornAtMs: fresh.bornAtMs, resumed: false };
      });
    },
    startOver: (name) => guarded(name, async () => void (await storage.removeItem(placeOf(name)))),
    markSent: (attempt) =>
      guarded(attempt.name, async () => {
        const kept = await read(attempt.name);
        if (kept?.key === attempt.key && !kept.sent) await write(attempt.name, { ...kept, sent: true });
      }),
    settle: (attempt) =>
      guarded(attempt.name, async () => {
        // Another tab may have started over meanwhile: its attempt is not ours to end.
        if ((await read(attempt.name))?.key === attempt.key) await storage.removeItem(placeOf(attempt.name));
      }),
  };
}
