/** An attempt: one intent, one key, bound to one payload, kept until its outcome is known, and for a while after. */
import { expectNames } from "./client-options.ts";
import { ClientError } from "./errors.ts";
import { readJson } from "./json-text.ts";
import { checkKey } from "./key-form.ts";
import { payloadHash, uuidV7, type KeySource } from "./key-source.ts";
import { enlist } from "./remembered.ts";
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
  /** It took effect. Whoever did not see that, and asks for the same again, gets the same key and the same answer. */
  readonly done?: true | undefined;
  /** What was done before under this name. An attempt that was never sent does not make it forgotten. */
  readonly last?: Kept | undefined;
  /** How often it was sent. */
  readonly sends?: number;
  /** Hash of what was sent. */
  readonly content?: string | undefined;
}

export interface Sent {
  /** When a request with this key first left, where one did before. */
  readonly sentAtMs?: number | undefined;
  /** Which send of this key it is; 0: of a key that is kept nowhere and lives as long as one call. */
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
  /** It is known to have taken effect: sent again, it gets the same answer. */
  readonly done?: true;
  /** Told before every pause, for "still trying". */
  readonly onRetry?: (told: { readonly tries: number; readonly pauseMs: number }) => void;
}

export interface Attempts {
  /**
   * The attempt of that name (the intent, such as `checkout:cart-7`) that is open, or done with the same payload; else a new one. Throws `attempt-changed` when one
   * was sent with another payload and its outcome is not known: finish it, or call `startOver`.
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

/** As long as servers remember keys. */
const rememberMsDefault = 86_400_000;
const rememberedMax = 100;
/** Far beyond any retention: what was sent before that is a matter for people. */
const keptMs = 30 * 86_400_000;
const madeList = { place: "ichido:made", ageMs: keptMs, max: 500 };

const placeOf = (name: string): string => `ichido:attempt:${name}`;

function parse(text: string | null | undefined): Kept | undefined {
  if (text === null || text === undefined) return undefined;
  const kept = (readJson(text) ?? {}) as Partial<Kept>;
  const sound = typeof kept.key === "string" && typeof kept.hash === "string" && typeof kept.bornAtMs === "number";
  // It may have been sent: a new key could do it twice.
  if (!sound) throw new Error("damaged");
  return kept as Kept;
}

const otherContent = "was sent with other content. Use the original, or let the person decide and call startOver()";
const changed = (name: string, what: string): ClientError =>
  new ClientError("attempt-changed", `attempt ${JSON.stringify(name)} ${what}`);

export function createAttempts(parts: {
  readonly storage: AttemptStorage;
  readonly keys?: KeySource;
  readonly nowMs: () => number;
  readonly warn?: (message: string) => void;
  /** How long what is done is remembered. Default a day; at most a hundred at a time. */
  readonly rememberMs?: number | undefined;
}): Attempts {
  expectNames("createAttempts", parts, "storage keys nowMs warn rememberMs");
  const { storage, nowMs, rememberMs = rememberMsDefault } = parts;
  const keys = parts.keys ?? (() => uuidV7(nowMs()));

  /** An attempt that cannot be kept would not survive a reload: better to fail while nothing has been sent. */
  async function stored<T>(verb: string, work: () => T | Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new ClientError("storage-failed", `the attempt could not be ${verb}; startOver() forgets it`, { cause });
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
  const forget = async (names: readonly string[], isOver: (kept: Kept) => unknown): Promise<void> => {
    for (const name of names) {
      await guarded(name, async () => {
        const kept = await read(name);
        if (kept && isOver(kept)) await storage.removeItem(placeOf(name));
      }).catch(() => undefined);
    }
  };

  return {
    async create(name, payload) {
      if (typeof name !== "string" || name === "") {
        throw new ClientError("option-invalid", "option name: expected the name of the intent, got none");
      }
      const hash = await payloadHash(payload);
      const atMs = nowMs();
      const old = await stored("kept", () => enlist(storage, madeList, [name, atMs]));
      // Of one that was never sent only what was done before it counts.
      await forget(old, ({ sentAtMs, last }) => atMs - (sentAtMs ?? last?.sentAtMs ?? 0) >= keptMs);
      return guarded(name, async () => {
        const kept = await read(name);
        const open = kept?.done ? undefined : kept;
        if (open?.sentAtMs !== undefined && open.hash !== hash) throw changed(name, otherContent);
        const done = kept?.done ? kept : kept?.last;
        const last = nowMs() - (done?.sentAtMs ?? 0) < rememberMs ? done : undefined;
        const now = [last, open].find((each) => each?.hash === hash) ?? {
          key: checkKey(await keys(payload), parts.warn),
          hash,
          bornAtMs: nowMs(),
          last,
        };
        if (now !== kept) await write(name, now);
        const { key, bornAtMs, sentAtMs } = now;
        return { name, key, bornAtMs, resumed: sentAtMs !== undefined, ...(now.done && { done: true }) };
      });
    },
    startOver: (name) => guarded(name, async () => void (await storage.removeItem(placeOf(name)))),
    announce: (attempt) =>
      guarded(attempt.name, async () => {
        const kept = await readOwn(attempt);
        if (kept !== undefined && kept.sentAtMs === undefined) {
          await write(attempt.name, { ...kept, sentAtMs: nowMs(), announced: true, last: undefined });
        }
      }),
    markSent: (attempt, content) =>
      guarded(attempt.name, async () => {
        const kept = await readOwn(attempt);
        // Settled elsewhere, or never kept: it may have been sent as early as it was made.
        if (kept === undefined) return { sentAtMs: attempt.bornAtMs, sends: 1 };
        if (content !== undefined && kept.content !== undefined && kept.content !== content) {
          throw changed(attempt.name, otherContent);
        }
        const sentAtMs = kept.announced ? undefined : kept.sentAtMs;
        const sends = (kept.sends ?? 0) + 1;
        const begun = { announced: undefined, last: undefined, sentAtMs: sentAtMs ?? nowMs(), sends };
        await write(attempt.name, { content, ...kept, ...begun });
        return { sentAtMs, sends };
      }),
    async settle(attempt, outcome, sends) {
      const { name } = attempt;
      const isKept = outcome === "done" && rememberMs > 0;
      try {
        // Listed first: what is written and not listed would stay for ever.
        const doneList = { place: "ichido:done", ageMs: rememberMs, max: rememberedMax };
        const forgotten = isKept ? await enlist(storage, doneList, [name, nowMs()]) : [];
        const isGone = await guarded(name, async () => {
          const kept = await read(name);
          // Another tab may have started over meanwhile: its attempt is not ours to end.
          if (kept?.key !== attempt.key) return true;
          if (kept.done || (sends !== undefined && kept.sends !== sends)) return false;
          if (isKept) await write(name, { ...kept, sentAtMs: kept.sentAtMs ?? kept.bornAtMs, done: true });
          else if (outcome === "refused") await write(name, { ...kept, sentAtMs: undefined, content: undefined });
          else await storage.removeItem(placeOf(name));
          return !isKept && outcome !== "refused";
        });
        await forget(forgotten, ({ done }) => done);
        if (isGone) await enlist(storage, madeList, [name, 0]);
        return isGone;
      } catch {
        // The outcome is known and must reach the caller.
        return false;
      }
    },
  };
}
