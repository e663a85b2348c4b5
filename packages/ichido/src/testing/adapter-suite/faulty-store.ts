/** A store whose verbs fail, hang or lose their replies when the test says so. */
import type { Store } from "../../core/contract/store.ts";

type Verb = "claim" | "renew" | "complete" | "release" | "suspend" | "find" | "tick" | "ping" | "sweep";

/**
 * `refuse`: the call fails and does nothing. `lose`: it takes effect and its reply is lost. `resend`: the same, and the
 * driver sends it again by itself. `hang`: no reply ever comes.
 */
export type Fault = "refuse" | "lose" | "resend" | "hang";

export interface FaultyStore extends Store {
  /** The next `times` calls of the verb, or all of them until `heal`. */
  break(verbs: readonly Verb[], fault: Fault, times?: number): void;
  heal(): void;
}

interface Breakage {
  readonly fault: Fault;
  left: number;
}

export const allVerbs: readonly Verb[] = [
  "claim",
  "renew",
  "complete",
  "release",
  "suspend",
  "find",
  "tick",
  "ping",
  "sweep",
];

export function faultyStore(store: Store): FaultyStore {
  const broken = new Map<Verb, Breakage>();

  async function through<Value>(verb: Verb, call: () => Promise<Value>): Promise<Value> {
    const breakage = broken.get(verb);
    if (breakage === undefined || breakage.left <= 0) return call();
    breakage.left -= 1;
    switch (breakage.fault) {
      case "refuse":
        throw new Error(`the store refuses ${verb}`);
      case "hang":
        return new Promise<Value>(() => undefined);
      case "lose":
        await call();
        throw new Error(`the reply to ${verb} was lost`);
      case "resend":
        await call();
        return call();
    }
  }

  const faulty: FaultyStore = {
    ...store,
    // 0, because calls hang on purpose: only the engine's own deadline counts.
    callTimeoutMs: 0,
    claim: (request) => through("claim", () => store.claim(request)),
    renew: (requests) => through("renew", () => store.renew(requests)),
    complete: (request, transaction) => through("complete", () => store.complete(request, transaction)),
    release: (claim) => through("release", () => store.release(claim)),
    suspend: (request) => through("suspend", () => store.suspend(request)),
    find: (identity) => through("find", () => store.find(identity)),
    tick: (request) => through("tick", () => store.tick(request)),
    ping: () => through("ping", () => store.ping()),
    sweep: (request) => through("sweep", () => store.sweep(request)),
    break(verbs, fault, times = Number.POSITIVE_INFINITY) {
      for (const verb of verbs) broken.set(verb, { fault, left: times });
    },
    heal: () => broken.clear(),
  };
  return faulty;
}
