/** An engine or its store, as reconcilers and people at work beside it get it: they call the store as an engine does. */
import type { Engine } from "./engine.ts";
import type { Environment } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { Store } from "../contract/store.ts";
import { createStoreCalls, type StoreCalls } from "./store-calls.ts";
import { storeTimeoutOf } from "./validate-options.ts";

/** An engine, or its store. */
export type StoreHolder = Store | { readonly store: Store };

/** `writeOwn`: before others decide on a record, what the process of the engine has to say of it. */
export type HeldCalls = Pick<Engine<never>, "writeOwn"> &
  Pick<
    StoreCalls,
    | "claim"
    | "emptyReasons"
    | "find"
    | "forget"
    | "giveBackLater"
    | "list"
    | "note"
    | "release"
    | "settle"
    | "steps"
    | "stop"
    | "suspend"
  >;

const callsOfEngines = new WeakMap<object, HeldCalls>();
const emitsOfEngines = new WeakMap<object, IchidoListener>();

/** Parts that get the engine use its calls, and never end them; what they do, its listeners hear. */
export function lendCalls(
  holder: object,
  { writeOwn }: Pick<HeldCalls, "writeOwn">,
  calls: StoreCalls,
  emit: IchidoListener,
): void {
  callsOfEngines.set(holder, { ...calls, writeOwn, stop: () => undefined });
  emitsOfEngines.set(holder, emit);
}

export function emitOf(holder: StoreHolder): IchidoListener | undefined {
  return emitsOfEngines.get(holder);
}

/** Those of the engine, or own ones for a store that comes by itself. */
export function callsOf(
  holder: StoreHolder,
  own: { readonly environment: Environment; readonly emit: IchidoListener },
): HeldCalls {
  const lent = callsOfEngines.get(holder);
  if (lent !== undefined) return lent;
  const store = "store" in holder ? holder.store : holder;
  const calls = createStoreCalls({ ...own, store, timeoutMs: storeTimeoutOf(undefined, store), faults: undefined });
  return { ...calls, writeOwn: async () => true };
}
