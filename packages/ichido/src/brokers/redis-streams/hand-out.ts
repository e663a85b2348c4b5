/** One entry with the taker: from the moment it is handed out until it is answered, handed back, or lost to another consumer. */
import type { Environment, Timer } from "../../core/contract/environment.ts";
import type { Taker } from "../broker.ts";
import { read, type Entry } from "./entry.ts";

export type Outcome = "acked" | "returned" | "lapsed";

/** Calls to the server. None of these rejects: a server that cannot be reached hands out the entry again. */
export interface Calls {
  ack(): Promise<void>;
  giveBack(delayMs: number): Promise<void>;
  /** Says whether the entry is still held. */
  renew(): Promise<boolean>;
}

export interface HandOutParts {
  readonly taker: Taker;
  readonly entry: Entry;
  readonly deliveries: number;
  readonly calls: Calls;
  readonly ackWaitMs: number;
  readonly environment: Environment;
}

export interface HandOut {
  readonly outcome: Promise<Outcome>;
  /** The subscription stops and waits no longer. */
  giveBack(): Promise<void>;
}

const delayMsUnanswered = 1_000;

export function handOut({ taker, entry, deliveries, calls, ackWaitMs, environment }: HandOutParts): HandOut {
  const { promise: outcome, resolve } = Promise.withResolvers<Outcome>();
  let answered: Promise<void> | undefined;
  let lapsed = false;
  let timer: Timer;

  // Without a sign of life the entry is another consumer's by now; one that still runs here must not block the loop.
  const watch = (): void => {
    const lapse = (): void => {
      lapsed = true;
      resolve("lapsed");
    };
    timer = environment.after(ackWaitMs, lapse, { hold: true });
  };
  watch();

  function answer(how: Outcome, tell: () => Promise<void>): Promise<void> {
    answered ??= tell().then(() => {
      timer.cancel();
      resolve(how);
    });
    return answered;
  }

  const delivery = {
    deliveries,
    ack: () => answer("acked", () => calls.ack()),
    // Late, it would take the entry away from its present holder, which may be another hand-out of this process.
    retry: (delayMs: number) => answer("returned", async () => (lapsed ? undefined : calls.giveBack(delayMs))),
    async working() {
      if (answered !== undefined || lapsed || !(await calls.renew()) || answered !== undefined || lapsed) return;
      timer.cancel();
      watch();
    },
  };
  const reading = read(entry);
  const taken =
    "message" in reading ? taker.take({ ...delivery, ...reading }) : taker.unreadable({ ...delivery, ...reading });
  const unanswered = (): void => void delivery.retry(delayMsUnanswered);
  taken.then(unanswered, unanswered);
  return { outcome, giveBack: () => delivery.retry(0) };
}
