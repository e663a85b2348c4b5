/** Whoever asks: impatient, at several servers at once, again and again until there is an answer. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../simulation/random.ts";
import type { Berth, Fleet } from "./fleet.ts";
import type { History, Operation } from "./history.ts";
import { intentOf, type Order, type Policy } from "./policies.ts";
import type { Tally } from "./tally.ts";
import type { Answer, Mishap } from "./wire.ts";

const callerNames = ["ann", "ben", "cem", "dora"];
/** An operation that has no answer by then is left for the end of the run. */
const patienceMs = 6_000;
const slowMs = 800;
/** Old keys that are asked for again after a new one. */
const earlierMax = 6;

export class Callers {
  readonly #fleet: Fleet;
  readonly #history: History;
  readonly #tally: Tally;
  readonly #random: Random;
  readonly #policies: readonly Policy[];
  /** SQLite has one writer: whoever dawdles inside a transaction stops all others. */
  readonly #insideMsMax: number;
  readonly #mishaps: readonly Mishap[];
  readonly #restMs: number;
  readonly #dawdleMs: number;
  /** What is asked for from now on. */
  readonly orders = { paddingBytes: 0 };

  constructor(parts: {
    readonly fleet: Fleet;
    readonly history: History;
    readonly tally: Tally;
    readonly random: Random;
    readonly policies: readonly Policy[];
    readonly insideMsMax: number;
    /** What befalls them now and then. */
    readonly mishaps: readonly Mishap[];
    /** How long each of them waits before the next operation, at most. */
    readonly restMs: number;
    /** How long a slow handler works before or after its effect, at most. */
    readonly dawdleMs: number;
  }) {
    this.#fleet = parts.fleet;
    this.#history = parts.history;
    this.#tally = parts.tally;
    this.#random = parts.random;
    this.#policies = parts.policies;
    this.#insideMsMax = parts.insideMsMax;
    this.#mishaps = parts.mishaps;
    this.#restMs = parts.restMs;
    this.#dawdleMs = parts.dawdleMs;
  }

  #begin(key?: string, caller?: string): Operation {
    const random = this.#random;
    const number = this.#history.begun + 1;
    const order: Order = {
      intent: intentOf(number),
      amount: number,
      beforeMs: random.chance(0.2) ? random.int(50, this.#dawdleMs) : random.int(0, 15),
      insideMs: random.chance(0.2) ? random.int(0, this.#insideMsMax) : 0,
      afterMs: random.chance(0.2) ? random.int(50, this.#dawdleMs) : random.int(0, 10),
      paddingBytes: this.orders.paddingBytes,
    };
    return this.#history.begin({
      number,
      policy: random.pick(this.#policies),
      caller: caller ?? random.pick(callerNames),
      key: key ?? `key-${number}-${random.int(0, 1e9)}`,
      order,
    });
  }

  /** As a balancer does, mostly: of two that were drawn the one with less to do. */
  #choose(ready: readonly Berth[]): Berth {
    const [one, other] = [this.#random.pick(ready), this.#random.pick(ready)];
    return this.#random.chance(0.2) || one.underWay <= other.underWay ? one : other;
  }

  async #send(operation: Operation, order: Order, mishap?: Mishap): Promise<Answer | undefined> {
    const { ready } = this.#fleet;
    if (ready.length === 0) {
      await sleep(20);
      return undefined;
    }
    const { policy, caller, key } = operation;
    const body = JSON.stringify(order);
    return this.#choose(ready).ask({ path: `/${policy}`, caller, key, body }, this.#tally, mishap);
  }

  /** One request; tells whether its answer was final. */
  async ask(operation: Operation, isCalm = false): Promise<boolean> {
    const isStruck = !isCalm && this.#mishaps.length > 0 && this.#random.chance(0.06);
    const mishap = isStruck ? this.#random.pick(this.#mishaps) : undefined;
    const answer = await this.#send(operation, operation.order, mishap);
    if (mishap !== undefined && answer === undefined) return false;
    return this.#history.note(operation, answer);
  }

  /** Until there is an answer, or until it is over. */
  async insist(operation: Operation, isOver: () => boolean, isCalm = false): Promise<boolean> {
    while (!isOver()) {
      const before = this.#history.interrupted;
      if (await this.ask(operation, isCalm)) return true;
      // Where servers are too slow to answer, asking at once again would keep them so.
      const isSlow = this.#history.interrupted > before;
      await sleep(this.#random.int(30, isSlow ? slowMs : 150));
    }
    return false;
  }

  #insistFor(ms: number, operation: Operation): Promise<boolean> {
    const endMs = performance.now() + ms;
    return this.insist(operation, () => performance.now() >= endMs);
  }

  async #again(operation: Operation): Promise<void> {
    const random = this.#random;
    if (random.chance(0.6)) await this.ask(operation);
    // Where the key was forgotten meanwhile, other content is new content.
    if (!this.#history.isForgetful && random.chance(0.1)) {
      const other = { ...operation.order, amount: operation.order.amount + 1_000_000 };
      this.#history.noteMismatch(operation, await this.#send(operation, other));
    }
    // Another caller's key of the same name is another key.
    if (random.chance(0.1)) {
      const foreign = callerNames[(callerNames.indexOf(operation.caller) + 1) % callerNames.length];
      await this.#insistFor(patienceMs, this.#begin(operation.key, foreign));
    }
    for (let count = random.int(0, earlierMax); count > 0; count -= 1) {
      const earlier = random.pick(this.#history.operations);
      if (earlier.answer !== undefined) await this.ask(earlier);
    }
  }

  /** One of several who ask side by side. */
  async run(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      const operation = this.#begin();
      const copies = this.#random.chance(0.5) ? this.#random.int(1, 2) : 0;
      const side = Array.from({ length: copies }, () => this.ask(operation));
      const isAnswered = await this.#insistFor(patienceMs, operation);
      await Promise.all(side);
      if (isAnswered) await this.#again(operation);
      if (this.#restMs > 0) await sleep(this.#random.int(0, this.#restMs));
    }
  }
}
