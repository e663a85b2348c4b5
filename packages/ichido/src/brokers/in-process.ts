/**
 * Relay and consumer in one process, with nothing in between: `publish` calls the taker and resolves when it was answered.
 * Nothing is kept here. What is not acknowledged stays in the outbox, and the relay brings it again.
 */
import { systemEnvironment, type Environment, type Timer } from "../core/contract/environment.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { optionInvalid } from "../core/contract/option-checks.ts";
import { given, integer, readOptions } from "../core/contract/read-options.ts";
import type { Delivery, Published, Publisher, Subscription, Taker } from "./broker.ts";
import type { EventMessage } from "./message.ts";
import { keepMsDefault, keepMsMax } from "./option-checks.ts";
import { copyIdOf } from "./print.ts";

export interface InProcessOptions {
  /** How long `publish` waits for the answer of every subscription. Default 30 000. */
  readonly callTimeoutMs?: number;
  /** The longest time that the relay may hold an event back and bring it again, for the inbox to check. Default 7 days. */
  readonly redeliveryMsMax?: number;
  readonly environment?: Pick<Environment, "after">;
}

export interface InProcessBroker {
  readonly publisher: Publisher;
  readonly subscription: Subscription;
  /** One more that gets every event, too. An event counts as sent when all have acknowledged it. */
  addSubscription(name: string): Subscription;
}

const optionTable = {
  callTimeoutMs: integer(1, 600_000, 30_000),
  redeliveryMsMax: integer("callTimeoutMs", keepMsMax, keepMsDefault),
  environment: given<Pick<Environment, "after">>(systemEnvironment),
};
/** How many unacknowledged events a subscription counts deliveries of; beyond it the oldest count is forgotten. */
const countedMax = 10_000;
const delayMsUnanswered = 1_000;

type Answer = "acked" | { readonly error: Error; readonly delayMs: number };

interface Running {
  readonly answer: Promise<Answer>;
  readonly settle: (answer: Answer) => void;
}

export function inProcess(options: InProcessOptions = {}): InProcessBroker {
  const { callTimeoutMs, redeliveryMsMax, environment } = readOptions("inProcess", options, optionTable);
  const outlets: Outlet[] = [];

  function add(name: string): Subscription {
    if (typeof name !== "string" || name === "" || outlets.some((outlet) => outlet.name === name))
      throw optionInvalid("inProcess.addSubscription", "a name that no other subscription has", name);
    const outlet = new Outlet(name, redeliveryMsMax, environment);
    outlets.push(outlet);
    return outlet;
  }

  async function publish(message: EventMessage): Promise<Published> {
    const answers = Promise.all(outlets.map((outlet) => outlet.give(message)));
    const { promise: late, resolve } = Promise.withResolvers<"late">();
    const timer: Timer = environment.after(callTimeoutMs, () => resolve("late"), { hold: true });
    const given = await Promise.race([answers, late]);
    timer.cancel();
    if (given === "late")
      return {
        outcome: "later",
        error: unavailable(`no answer within ${callTimeoutMs} ms`),
        delayMs: delayMsUnanswered,
      };
    const refusals = given.filter((answer) => answer !== "acked");
    const [first] = refusals;
    if (first === undefined) return { outcome: "sent" };
    if (outlets.some((outlet) => !outlet.started)) return { outcome: "unavailable", error: first.error };
    const delayMs = Math.ceil(Math.max(...refusals.map((answer) => answer.delayMs)));
    return { outcome: "later", error: first.error, delayMs };
  }

  const subscription = add("in-process");
  return {
    publisher: { name: "in-process", publish, close: async () => undefined },
    subscription,
    addSubscription: add,
  };
}

/** One subscription's side: who takes, and what is being worked on. */
class Outlet implements Subscription {
  readonly name: string;
  readonly redeliveryMsMax: number;
  readonly #environment: Pick<Environment, "after">;
  readonly #running = new Map<string, Running>();
  readonly #deliveries = new Map<string, number>();
  #taker: Taker | undefined;

  constructor(name: string, redeliveryMsMax: number, environment: Pick<Environment, "after">) {
    this.name = name;
    this.redeliveryMsMax = redeliveryMsMax;
    this.#environment = environment;
  }

  get started(): boolean {
    return this.#taker !== undefined;
  }

  async start(taker: Taker): Promise<void> {
    if (this.#taker !== undefined)
      throw new IchidoError("usage-invalid", `in-process subscription ${this.name} is started already; stop it first`);
    this.#taker = taker;
  }

  async stop(options: { readonly drainMs?: number } = {}): Promise<void> {
    this.#taker = undefined;
    const running = [...this.#running.values()];
    if (running.length === 0) return;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = this.#environment.after(options.drainMs ?? 0, resolve, { hold: true });
    await Promise.race([Promise.all(running.map(({ answer }) => answer)), over]);
    timer.cancel();
    for (const { settle } of running)
      settle({ error: unavailable(`subscription ${this.name} was stopped`), delayMs: 0 });
  }

  give(message: EventMessage): Promise<Answer> {
    const copyId = copyIdOf(message);
    const running = this.#running.get(copyId);
    // An event that was brought again while its handler is still at work waits for that work instead of running beside it.
    if (running !== undefined) return running.answer;
    const taker = this.#taker;
    if (taker === undefined)
      return Promise.resolve({ error: unavailable(`subscription ${this.name} is not started`), delayMs: 0 });
    return this.#hand(taker, message, copyId);
  }

  #hand(taker: Taker, message: EventMessage, copyId: string): Promise<Answer> {
    const { promise: answer, resolve } = Promise.withResolvers<Answer>();
    const entry: Running = {
      answer,
      settle: (given) => {
        if (this.#running.get(copyId) === entry) this.#running.delete(copyId);
        if (given === "acked") this.#deliveries.delete(copyId);
        resolve(given);
      },
    };
    this.#running.set(copyId, entry);
    const delivery: Delivery = {
      message,
      deliveries: this.#count(copyId),
      ack: async () => entry.settle("acked"),
      retry: async (delayMs) =>
        entry.settle({ error: unavailable(`subscription ${this.name} asked for it again`), delayMs }),
      working: async () => undefined,
    };
    const unanswered = (why: string) => (): void =>
      entry.settle({ error: unavailable(`subscription ${this.name} ${why}`), delayMs: delayMsUnanswered });
    taker.take(delivery).then(unanswered("gave no answer"), unanswered("failed"));
    return answer;
  }

  #count(copyId: string): number {
    const deliveries = (this.#deliveries.get(copyId) ?? 0) + 1;
    this.#deliveries.delete(copyId);
    this.#deliveries.set(copyId, deliveries);
    if (this.#deliveries.size > countedMax) {
      const [oldest] = this.#deliveries.keys();
      if (oldest !== undefined) this.#deliveries.delete(oldest);
    }
    return deliveries;
  }
}

function unavailable(what: string): Error {
  return new Error(`in-process broker: ${what}`);
}
