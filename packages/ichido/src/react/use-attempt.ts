/** One intent on one screen: a button that can be pressed twice, a page that can be reloaded, and one effect. */
import { createAttempts, type Attempt, type Attempts } from "../client/attempt.ts";
import { ClientError } from "../client/errors.ts";
import { stableJson } from "../client/key-source.ts";
import type { Result } from "../client/result.ts";
import { tabStorage } from "../client/storage.ts";
import type { ReactLike } from "./react-like.ts";

/**
 * `unknown`: it may have taken effect, in this page or before a reload; `run` asks again under the same key. `done`
 * stays, over reloads too, until the name or the payload changes or `startOver` is called, so that a late second click
 * does not begin a second intent.
 */
export type AttemptStatus = "idle" | "sending" | "retrying" | "unknown" | "done" | "declined";

export interface AttemptView {
  readonly status: AttemptStatus;
  /** A request is under way. */
  readonly busy: boolean;
  /** Requests that the present `run` has sent. */
  readonly tries: number;
  /** Absent where it was `done` before a reload: `run` then asks for the answer again, and the server replays it. */
  readonly result: Result | undefined;
  /** A mistake in how it is used, such as `attempt-changed`; outcomes are in `result`. */
  readonly error: unknown;
  /** Sends the attempt. Calls during a send get its result instead of a second send. Never rejects. */
  readonly run: () => Promise<Result | undefined>;
  /** Forgets what is known about the intent. A person decides this. */
  readonly startOver: () => Promise<void>;
}

export interface UseAttemptOptions {
  /** The client whose storage keeps the attempt. Default: the storage of this tab, as with `createClient`. */
  readonly client?: { readonly attempts: Attempts };
  /**
   * After a reload, ask at once for the outcome of an attempt that was under way. Default false: a person calls `run`.
   */
  readonly resume?: boolean;
}

interface Held {
  readonly status: AttemptStatus;
  readonly tries: number;
  readonly result?: Result;
  readonly error?: unknown;
}

/** The state, with the name and payload that it belongs to: it says nothing about another payload. */
interface HeldAt extends Held {
  readonly place: string;
}

/** What is true of one name and payload; another payload is another intent. */
interface Intent {
  readonly place: string;
  readonly attempt: Promise<Attempt>;
}

const idle: Held = { status: "idle", tries: 0 };
let shared: Attempts | undefined;
const sharedAttempts = (): Attempts =>
  (shared ??= createAttempts({ storage: tabStorage(), nowMs: Date.now, warn: (message) => console.warn(message) }));

const isChanged = (error: unknown): boolean => error instanceof ClientError && error.code === "attempt-changed";

export type UseAttempt = (
  name: string,
  payload: unknown,
  send: (attempt: Attempt) => Promise<Result>,
  options?: UseAttemptOptions,
) => AttemptView;

export function createUseAttempt(react: ReactLike): UseAttempt {
  const { useCallback, useEffect, useRef, useState } = react;
  return function useAttempt(name, payload, send, options = {}) {
    const attempts = options.client?.attempts ?? sharedAttempts();
    const place = `${name}\n${stableJson(payload)}`;
    const [held, setHeld] = useState<HeldAt>(() => ({ ...idle, place }));
    // State is too late for a lock: two clicks arrive before React renders again.
    const flights = useRef(new Map<string, Promise<Result | undefined>>());
    const intent = useRef<Intent | undefined>(undefined);
    const settled = useRef<{ readonly place: string; readonly result: Result } | undefined>(undefined);
    const latest = useRef({ name, payload, send, place, attempts });
    latest.current = { name, payload, send, place, attempts };

    const tell = useCallback((where: string, told: Held): void => {
      if (latest.current.place === where) setHeld({ ...told, place: where });
    }, []);

    const attemptNow = useCallback((): Promise<Attempt> => {
      const now = latest.current;
      if (intent.current?.place !== now.place) {
        const attempt = now.attempts.create(now.name, now.payload);
        const fresh = { place: now.place, attempt };
        intent.current = fresh;
        attempt.catch(() => {
          if (intent.current === fresh) intent.current = undefined;
        });
      }
      return (intent.current as Intent).attempt;
    }, []);

    /** Reads what is known about the payload on the screen, without sending anything. */
    const look = useCallback(async (): Promise<Attempt | undefined> => {
      const where = latest.current.place;
      const isFlying = (): boolean => flights.current.has(where);
      if (isFlying()) tell(where, { status: "sending", tries: 0 });
      try {
        // Made with the intent, not with the click: another tab that shows the same intent then holds the same key.
        const attempt = await attemptNow();
        if (isFlying()) return undefined;
        if (settled.current?.place === where) {
          tell(where, { status: "done", tries: 0, result: settled.current.result });
        } else tell(where, { status: attempt.done ? "done" : attempt.resumed ? "unknown" : "idle", tries: 0 });
        return attempt;
      } catch (error) {
        if (!isFlying()) tell(where, { status: isChanged(error) ? "unknown" : "idle", tries: 0, error });
        return undefined;
      }
    }, [attemptNow, tell]);

    const fly = useCallback(async (): Promise<Result | undefined> => {
      const { send: deliver, attempts: kept, place: where } = latest.current;
      tell(where, { status: "sending", tries: 0 });
      try {
        const attempt = await attemptNow();
        await kept.announce(attempt);
        const onRetry: Attempt["onRetry"] = ({ tries }) => tell(where, { status: "retrying", tries });
        const result = await deliver({ ...attempt, onRetry });
        if (result.kind === "done" || (result.kind === "declined" && !result.keyKept)) {
          await kept.settle(attempt, result.kind);
          if (intent.current?.place === where) intent.current = undefined;
        }
        if (result.kind === "done") settled.current = { place: where, result };
        tell(where, { status: result.kind, tries: result.tries, result });
        return result;
      } catch (error) {
        // Whatever was thrown, a request may have been sent.
        tell(where, { status: "unknown", tries: 0, error });
        return undefined;
      }
    }, [attemptNow, tell]);

    const run = useCallback((): Promise<Result | undefined> => {
      const where = latest.current.place;
      const under = flights.current.get(where);
      if (under !== undefined) return under;
      if (settled.current?.place === where) return Promise.resolve(settled.current.result);
      const flying = fly().finally(() => {
        flights.current.delete(where);
        // While this intent was open, the payload on the screen could not become an intent.
        if (latest.current.place !== where) void look();
      });
      flights.current.set(where, flying);
      return flying;
    }, [fly, look]);

    const startOver = useCallback(async (): Promise<void> => {
      await Promise.all(flights.current.values());
      intent.current = settled.current = undefined;
      await latest.current.attempts.startOver(latest.current.name);
      await look();
    }, [look]);

    const { resume = false } = options;
    useEffect(() => {
      let isCurrent = true;
      void look().then((attempt) => {
        if (isCurrent && resume && attempt?.resumed === true && !attempt.done) void run();
      });
      return () => {
        isCurrent = false;
      };
    }, [place, attempts, resume, look, run]);

    const { status, tries, result, error } = held.place === place ? held : (idle as Held);
    return { status, tries, result, error, busy: status === "sending" || status === "retrying", run, startOver };
  };
}
