/** One intent on one screen: a button that can be pressed twice, a page that can be reloaded, and one effect. */
import { createAttempts, type Attempt, type Attempts } from "../client/attempt.ts";
import { ClientError } from "../client/errors.ts";
import { stableJson } from "../client/key-source.ts";
import type { Result } from "../client/result.ts";
import { tabStorage } from "../client/storage.ts";
import type { ReactLike } from "./react-like.ts";

/**
 * `unknown`: it may have taken effect, in this page or before a reload; `run` asks again under the same key. `done` stays
 * until the name or the payload changes or `startOver` is called, so that a late second click does not begin a second intent.
 */
export type AttemptStatus = "idle" | "sending" | "retrying" | "unknown" | "done" | "declined";

export interface AttemptView {
  readonly status: AttemptStatus;
  /** A request is under way. */
  readonly busy: boolean;
  /** Requests that were sent by the present `run`. */
  readonly tries: number;
  readonly result: Result | undefined;
  /** A mistake in how it is used, such as `attempt-changed`; outcomes are in `result`. */
  readonly error: unknown;
  /** Sends, once at a time: further calls get the first one's result. Never rejects. */
  readonly run: () => Promise<Result | undefined>;
  /** Gives up what is known of the intent. A person decides this. */
  readonly startOver: () => Promise<void>;
}

export interface UseAttemptOptions {
  /** Whose storage keeps the attempt. Default: this tab's, as with `createClient`. */
  readonly client?: { readonly attempts: Attempts };
  /** Ask at once for what was under way before a reload. Default false: the person does, with `run`. */
  readonly resume?: boolean;
}

interface Held {
  readonly status: AttemptStatus;
  readonly tries: number;
  readonly result?: Result;
  readonly error?: unknown;
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
    const [held, setHeld] = useState<Held>(() => idle);
    // State is too late for a lock: two clicks arrive before React renders again.
    const flight = useRef<Promise<Result | undefined> | undefined>(undefined);
    const intent = useRef<Intent | undefined>(undefined);
    const settled = useRef<{ readonly place: string; readonly result: Result } | undefined>(undefined);
    const latest = useRef({ name, payload, send, place, attempts });
    latest.current = { name, payload, send, place, attempts };

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

    const fly = useCallback(async (): Promise<Result | undefined> => {
      const { send: deliver, attempts: kept, place: where } = latest.current;
      setHeld({ status: "sending", tries: 0 });
      try {
        const attempt = await attemptNow();
        await kept.announce(attempt);
        const onRetry: Attempt["onRetry"] = ({ tries }) => setHeld({ status: "retrying", tries });
        const result = await deliver({ ...attempt, onRetry });
        if (result.kind === "done" || (result.kind === "declined" && !result.keyKept)) {
          await kept.settle(attempt, result.kind);
          intent.current = undefined;
        }
        if (result.kind === "done") settled.current = { place: where, result };
        setHeld({ status: result.kind, tries: result.tries, result });
        return result;
      } catch (error) {
        // Whatever was thrown, a request may have left.
        setHeld({ status: "unknown", tries: 0, error });
        return undefined;
      }
    }, [attemptNow]);

    const run = useCallback((): Promise<Result | undefined> => {
      if (flight.current !== undefined) return flight.current;
      if (settled.current?.place === latest.current.place) return Promise.resolve(settled.current.result);
      const flying = fly().finally(() => {
        flight.current = undefined;
      });
      flight.current = flying;
      return flying;
    }, [fly]);

    const startOver = useCallback(async (): Promise<void> => {
      await flight.current;
      intent.current = settled.current = undefined;
      await latest.current.attempts.startOver(latest.current.name);
      setHeld(idle);
      await attemptNow().catch((error: unknown) => setHeld({ ...idle, error }));
    }, [attemptNow]);

    const { resume = false } = options;
    useEffect(() => {
      let isCurrent = true;
      // Made with the intent, not with the click: another tab that shows the same intent then holds the same key.
      attemptNow().then(
        (attempt) => {
          if (!isCurrent || flight.current !== undefined) return;
          setHeld(attempt.resumed ? { status: "unknown", tries: 0 } : idle);
          if (attempt.resumed && resume) void run();
        },
        (error: unknown) => {
          if (isCurrent) setHeld({ status: isChanged(error) ? "unknown" : "idle", tries: 0, error });
        },
      );
      return () => {
        isCurrent = false;
      };
    }, [place, attempts, resume, attemptNow, run]);

    const { status, tries, result, error } = held;
    return { status, tries, result, error, busy: status === "sending" || status === "retrying", run, startOver };
  };
}
