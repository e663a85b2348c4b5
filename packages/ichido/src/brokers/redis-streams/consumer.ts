/** What both kinds of loop need: the calls of one consumer, its pauses, its troubles and its end. */
import { DeadlineExceeded, sleep, withDeadline } from "../../core/contract/deadline.ts";
import type { Environment, Timer } from "../../core/contract/environment.ts";
import { replyCodeOf } from "../../drivers/redis/failures.ts";
import { listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import type { Taker } from "../broker.ts";
import { entryOf, type Entry } from "./entry.ts";
import { prepareGroups } from "./groups.ts";
import { handOut, type Calls, type HandOut } from "./hand-out.ts";
import type { ResolvedSubscription } from "./options.ts";
import { failureOf, type Script, type Server } from "./server.ts";

/**
 * Holds what was handed back: a name that no consumer has, so that it goes to the first consumer that comes after the
 * delay.
 */
const waitingConsumer = "ichido-waiting";
const pollMsFirst = 5;
const failedMsFirst = 50;
const failedMsMax = 1_000;

export interface Consumer {
  readonly settings: ResolvedSubscription;
  readonly environment: Environment;
  readonly stopping: boolean;
  takeOrdered(stream: string): Promise<{ readonly deliveries: number; readonly entries: readonly Entry[] }>;
  takeAny(
    stream: string,
    most: number,
    cursor: string,
  ): Promise<{
    readonly cursor: string;
    readonly taken: readonly { readonly deliveries: number; readonly entry: Entry }[];
  }>;
  /** Deliveries of the next entry; 0 when there is none to hand out. Repeated until the entry cannot be held any longer. */
  ack(stream: string, id: string, next: string): Promise<number>;
  giveBack(stream: string, ids: readonly string[], delayMs: number): Promise<void>;
  /** Says whether any of them is still held. */
  renew(stream: string, ids: readonly string[]): Promise<boolean>;
  /** Removes the consumer's own name, and forgotten ones, where nothing is pending. */
  leave(stream: string, forgottenMs: number): Promise<void>;
  hand(entry: Entry, deliveries: number, calls: Calls): HandOut;
  /** Until a wake-up, the stop, or the end of a pause that grows from one empty look to the next. */
  idle(stream: string): Promise<void>;
  busy(stream: string): void;
  wake(stream: string): void;
  /** After a failed look: says so once, and waits. */
  failed(error: unknown): Promise<void>;
  recovered(): void;
  stop(drainMs: number, loops: Promise<unknown>): Promise<void>;
}

export function createConsumer(server: Server, settings: ResolvedSubscription, name: string, taker: Taker): Consumer {
  const { environment, group, ackWaitMs } = settings;
  const pausesMs = new Map<string, number>();
  const sleepers = new Map<string, () => void>();
  const handed = new Set<HandOut>();
  const taking = new Map<string, Promise<unknown>>();
  let stopping = false;
  let troubled = false;
  let failedMs = failedMsFirst;

  const run = (script: Script, stream: string, args: readonly string[]): Promise<unknown> =>
    server.run(script, stream, [group, name, ...args]);

  /**
   * A take without an answer may still be in the driver's queue, to be done when the server is back: another one would
   * count a hand-out that never was, and its entries would go nowhere. So the next look waits for the same one.
   */
  async function take(script: Script, stream: string, args: readonly string[]): Promise<unknown> {
    const one = taking.get(stream) ?? server.callScript(script, stream, [group, name, ...args]);
    taking.set(stream, one);
    // It may fail while no look waits for it; the next look gets the error.
    one.catch(() => undefined);
    let answered = true;
    try {
      return await withDeadline(environment, settings.callTimeoutMs, () => one);
    } catch (error) {
      answered = !(error instanceof DeadlineExceeded);
      throw error;
    } finally {
      if (answered) taking.delete(stream);
    }
  }

  function disturbed(error: unknown, verb: string): void {
    if (!troubled) taker.disturbed?.(failureOf(error, verb));
    troubled = true;
  }

  async function repeated<Value>(verb: string, call: () => Promise<Value>, lost: Value): Promise<Value> {
    const untilMs = environment.monotonicMs() + ackWaitMs;
    for (let pauseMs = failedMsFirst; ; pauseMs = Math.min(pauseMs * 2, failedMsMax)) {
      try {
        return await call();
      } catch (error) {
        disturbed(error, verb);
        if (stopping || environment.monotonicMs() + pauseMs > untilMs) return lost;
        await sleep(environment, pauseMs);
      }
    }
  }

  function pause(stream: string, pauseMs: number): Promise<void> {
    return new Promise((resolve) => {
      let timer: Timer | undefined;
      const end = (): void => {
        sleepers.delete(stream);
        timer?.cancel();
        resolve();
      };
      sleepers.set(stream, end);
      timer = environment.after(pauseMs, end, { hold: true });
    });
  }

  const consumer: Consumer = {
    settings,
    environment,
    get stopping() {
      return stopping;
    },
    async takeOrdered(stream) {
      const reply = listOf(await take("takeOrdered", stream, [String(ackWaitMs), String(settings.batch)]));
      if (reply.length === 0) return { deliveries: 0, entries: [] };
      return { deliveries: numberOf(reply[0]), entries: listOf(reply[1]).map(entryOf) };
    },
    async takeAny(stream, most, cursor) {
      const [next, ...taken] = listOf(await take("takeAny", stream, [String(ackWaitMs), String(most), cursor]));
      return {
        cursor: textOf(next),
        taken: taken.map((pair) => {
          const [deliveries, entry] = listOf(pair);
          return { deliveries: numberOf(deliveries), entry: entryOf(entry) };
        }),
      };
    },
    ack: (stream, id, next) =>
      repeated("ack", async () => numberOf(await run("ack", stream, [id, next, settings.deleteAcked ? "1" : "0"])), 0),
    async giveBack(stream, ids, delayMs) {
      const passedMs = Math.max(0, ackWaitMs - Math.max(0, Math.round(delayMs)));
      await repeated("hand back", () => run("hold", stream, [waitingConsumer, String(passedMs), ...ids]), undefined);
    },
    async renew(stream, ids) {
      try {
        return numberOf(await run("hold", stream, [name, "0", ...ids])) > 0;
      } catch (error) {
        disturbed(error, "renew");
        return false;
      }
    },
    async leave(stream, forgottenMs) {
      await run("leave", stream, [String(forgottenMs)]);
    },
    hand(entry, deliveries, calls) {
      const one = handOut({ taker, entry, deliveries, calls, ackWaitMs, environment });
      handed.add(one);
      void one.outcome.then(() => handed.delete(one));
      return one;
    },
    async idle(stream) {
      if (stopping) return;
      const pauseMs = pausesMs.get(stream) ?? pollMsFirst;
      pausesMs.set(stream, Math.min(pauseMs * 2, settings.pollMsMax));
      await pause(stream, pauseMs);
    },
    busy: (stream) => void pausesMs.delete(stream),
    wake(stream) {
      pausesMs.delete(stream);
      sleepers.get(stream)?.();
    },
    async failed(error) {
      disturbed(error, "take");
      // Without its groups the server has lost data, or was given an empty place: what comes from now on is read.
      if (replyCodeOf(error) === "NOGROUP")
        await prepareGroups(server, settings, group, "start").catch(() => undefined);
      if (!stopping) await sleep(environment, failedMs);
      failedMs = Math.min(failedMs * 2, failedMsMax);
    },
    recovered() {
      troubled = false;
      failedMs = failedMsFirst;
    },
    async stop(drainMs, loops) {
      stopping = true;
      for (const end of sleepers.values()) end();
      await withDeadline(environment, Math.max(1, drainMs), () => loops).catch(() => undefined);
      await Promise.all([...handed].map((one) => one.giveBack()));
      await withDeadline(environment, settings.callTimeoutMs, () => loops).catch(() => undefined);
    },
  };
  return consumer;
}
