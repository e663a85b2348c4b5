/**
 * Says why the store fails, instead of leaving it to be guessed from answers: loudly, but once for each verb and reason,
 * and again only after that verb has worked.
 */
import type { Environment } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { StoreFailure } from "./store-calls.ts";

/** A store that comes and goes is not reported each time. */
const quietMs = 60_000;

export interface Trouble {
  failed(failure: StoreFailure): void;
  worked(verb: string): void;
  /** The last failure of a verb that has not worked since; over after a while without a try. */
  standing(verb: string): StoreFailure | undefined;
}

export function createTrouble(environment: Environment, emit: IchidoListener): Trouble {
  const said = new Map<string, { readonly code: string; readonly atMs: number }>();
  const standing = new Map<string, { readonly failure: StoreFailure; readonly atMs: number }>();
  const isRecent = (atMs: number): boolean => environment.monotonicMs() - atMs < quietMs;
  return {
    failed(failure) {
      const { verb, code, message } = failure;
      standing.set(verb, { failure, atMs: environment.monotonicMs() });
      // The caller of ping learns it from the rejection.
      if (verb === "ping" || said.get(verb)?.code === code) return;
      said.set(verb, { code, atMs: environment.monotonicMs() });
      emit({ type: "warning", code: "store-failed", message, error: failure });
    },
    worked(verb) {
      if (standing.size > 0) standing.delete(verb);
      if (said.size === 0) return;
      const last = said.get(verb);
      if (last !== undefined && !isRecent(last.atMs)) said.delete(verb);
    },
    standing(verb) {
      const last = standing.get(verb);
      return last !== undefined && isRecent(last.atMs) ? last.failure : undefined;
    },
  };
}
