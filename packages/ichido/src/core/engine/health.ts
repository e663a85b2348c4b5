/** What an engine tells of itself and of its store. */
import type { IchidoErrorCode } from "../contract/errors.ts";
import type { Store } from "../contract/store.ts";
import { codeOf, type StoreCalls } from "./store-calls.ts";

export interface Health {
  readonly ok: boolean;
  readonly store: {
    readonly name: string;
    readonly reachable: boolean;
    readonly promise: string;
    /** Why claims fail, and what to do about it. */
    readonly problem?: { readonly code: IchidoErrorCode; readonly message: string };
  };
  /** Attempts that run in this process now. */
  readonly running: number;
  readonly waiting: number;
  /** False while the store's clock is watched after a jump or a long pause: nothing expires meanwhile. */
  readonly clockTrusted: boolean;
  readonly closing: boolean;
  /** `drain` was called: no new work should be sent here, though what comes is still done until `closing`. */
  readonly draining: boolean;
}

function problemOf(error: unknown): Health["store"]["problem"] {
  return error === undefined ? undefined : { code: codeOf(error), message: (error as Error).message };
}

export async function healthOf(
  store: Store,
  calls: Pick<StoreCalls, "ping" | "beginProblem">,
  engine: () => Omit<Health, "ok" | "store">,
): Promise<Health> {
  const { name, capabilities } = store;
  const failure: unknown = await calls.ping().then(
    () => undefined,
    (error: unknown) => error,
  );
  const problem = problemOf(failure ?? calls.beginProblem);
  const { closing, draining, ...told } = engine();
  return {
    ok: problem === undefined && !closing && !draining,
    store: {
      name,
      reachable: failure === undefined,
      promise: capabilities.promise,
      ...(problem === undefined ? {} : { problem }),
    },
    ...told,
    closing,
    draining,
  };
}
