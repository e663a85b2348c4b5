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
  /** When the first request with this key may have been sent; absent: no request that could take effect was sent. */
  readonly sentAtMs?: number | undefined;
  /** `sentAtMs` belongs to a send that was announced and has not begun. */
  readonly announced?: true | undefined;
  /** It took effect. A caller that missed the answer and asks for the same again gets the same key and answer. */
  readonly done?: true | undefined;
  /** What was done before under this name. A new attempt that is never sent does not erase it. */
  readonly last?: Kept | undefined;
  /** How often it was sent. */
  readonly sends?: number;
  /** Hash of what was sent. */
  readonly content?: string | undefined;
}

export interface Sent {
  /** When a request with this key was first sent, if one was sent before. */
  readonly sentAtMs?: number | undefined;
  /** The number of this send under its key; 0: the key is stored nowhere and lives as long as one call. */
  readonly sends: number;
}

/** `refused`: the server did not run it, and the key may be used again. */
export type Settlement = "done" | "declined" | "refused";

export interface Attempt {
  readonly name: string;
  readonly key: string;
  readonly bornAtMs: number;
  /** A request with this key was sent before, here or before a reload: its outcome may be open. */
  readonly resumed: boolean;
  /** It took effect: sent again, it gets the same answer. */
  readonly done?: true;
  /** The key is what the caller wrote into the header, quotes and all: it is sent as it is. */
  readonly verbatim?: true;
  /** Called before every pause, to show "still trying". */
  readonly onRetry?: (told: { readonly tries: number; readonly pauseMs: number }) => void;
}

export interface Attempts {
  /**
   * The attempt of that name (the intent, such as `checkout:cart-7`) that is open, or done with the same payload; else
   * a new one. Throws `attempt-changed` when an attempt with another payload was sent and its outcome is not known:
   * finish that one, or call `startOver`.
   */
  create(name: string, payload: unknown): Promise<Attempt>;
  /** Forgets what is known about the intent: the next attempt of that name has a new key. A person decides this. */
  startOver(name: string): Promise<void>;
  /** For a caller that does not know whether the sender calls `markSent`: call it before the send. */
  announce(attempt: Attempt): Promise<void>;
  /**
   * Called before the first byte leaves. Throws `attempt-changed` when the name belongs to another key by now, or when
   * other content was sent before.
   */
  markSent(attempt: Attempt, content?: string): Promise<Sent>;
  /**
   * The outcome is definitive. With `sends`: only if that was the last send under this key; the outcome of a later one
   * would be open. Answers whether the key was given up. Never fails: an attempt that stays stored only leads to the
   * same answer again.
   */
  settle(attempt: Attempt, outcome: Settlement, sends?: number): Promise<boolean>;
}

/** As long as servers usually remember keys. */
const rememberMsDefault = 86_400_000;
const rememberedMax = 100;
/** Far beyond any retention: a person decides about attempts that are older. */
const keptMs = 30 * 86_400_000;
const madeList = { place: "ichido:made", ageMs: keptMs, max: 500 };

const placeOf = (name: string): string => `ichido:attempt:${name}`;

function parse(text: string | null | undefined): Kept | undefined {
  if (text === null || text === undefined) return undefined;
  const kept = (readJson(text) ?? {}) as Partial<Kept>;
  const sound = typeof kept.key === "string" && typeof kept.hash === "string" && typeof kept.bornAtMs === "number";
  // It may have been sent: a new key could take effect twice.
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

  /** An attempt that cannot be stored would not survive a reload: it fails here, while nothing has been sent. */
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
      // For an attempt that was never sent, only the one that was done before it counts.
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
        // Settled elsewhere, or never stored: it may have been sent as soon as it was made.
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
        // The list is written first: an item that is stored but not listed would stay for ever.
        const doneList = { place: "ichido:done", ageMs: rememberMs, max: rememberedMax };
        const forgotten = isKept ? await enlist(storage, doneList, [name, nowMs()]) : [];
        const isGone = await guarded(name, async () => {
          const kept = await read(name);
          // Another tab may have started over meanwhile: this tab must not end that attempt.
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
