/**
 * A broker that keeps the contract of `brokers/broker.ts` and nothing more: it loses confirms and acknowledgements, hands
 * out again what was acknowledged, refuses, is away, or cannot be reached by some events alone. Per partition one after the other.
 */
import type { Delivery, Published, Publisher, Subscription, Taker } from "../../packages/ichido/src/brokers/broker.ts";
import type { EventMessage } from "../../packages/ichido/src/brokers/message.ts";
import type { Machine } from "../machine.ts";
import { createRandom, mixed } from "../random.ts";
import type { Ledger } from "./ledger.ts";
import type { StrangerAs } from "./plan-apart.ts";
import { brokerTimeoutMs, toBroker, type EventsWorld } from "./world.ts";

interface Entry {
  readonly message: EventMessage;
  deliveries: number;
  dueMs: number;
  /** The delivery that counts. */
  inHand: { readonly taker: Taking; heardMs: number } | undefined;
}

interface Taking {
  readonly machine: Machine;
  readonly taker: Taker;
  /** Of each partition what it was handed last: one after the other. */
  readonly last: Map<Entry[], Promise<void>>;
  isOver: boolean;
}

export class Broker {
  readonly #world: EventsWorld;
  readonly #ledger: Ledger;
  readonly #partitions: Entry[][];
  readonly #past: EventMessage[] = [];
  /** By somebody else than the outbox. */
  readonly #strangers = new Map<EventMessage, StrangerAs>();
  /** Who brought each event first. */
  readonly #bringers = new Map<string, Machine>();
  readonly #takings: Taking[] = [];
  #turn = 0;

  constructor(world: EventsWorld, ledger: Ledger) {
    this.#world = world;
    this.#ledger = ledger;
    this.#partitions = Array.from({ length: world.plan.partitions }, () => []);
  }

  get size(): number {
    return this.#partitions.reduce((sum, entries) => sum + entries.length, 0);
  }

  publisher(machine: Machine): Publisher {
    return {
      name: "simulated",
      publish: (message) => this.#publish(machine, message),
      close: async () => undefined,
    };
  }

  #publish(machine: Machine, message: EventMessage): Promise<Published> {
    const world = this.#world;
    const { scheduler, plan } = world;
    const fate = world.fateOf(machine, toBroker);
    const random = createRandom(plan.seed, machine.number, machine.sent, 12);
    const error = new Error("no answer");
    this.#ledger.judgeSending(machine, message.id);
    return new Promise((resolve) => {
      const answer = (published: Published, delayMs: number): void => {
        scheduler.after(delayMs, () =>
          machine.deliver("reply", () => {
            timer.cancel();
            resolve(published);
          }),
        );
      };
      const timer = machine.after(brokerTimeoutMs, () => resolve({ outcome: "unavailable", error }));
      if (fate.lost === "before") {
        if (fate.tells) answer({ outcome: "unavailable", error }, fate.backMs);
        return;
      }
      scheduler.after(fate.thereMs, () => {
        if (world.brokerAwayUntilMs > world.nowMs) return answer({ outcome: "unavailable", error }, fate.backMs);
        if (this.#isStuck(message)) return answer({ outcome: "unavailable", error }, fate.backMs);
        const name = `${machine.name} publishing ${machine.sent}`;
        if (random.chance(plan.faults.refuses) && world.strikes(`${name} refused`))
          return answer({ outcome: "rejected", error: new Error("refused") }, fate.backMs);
        if (random.chance(plan.faults.later) && world.strikes(`${name} later`))
          return answer({ outcome: "later", error: new Error("later"), delayMs: random.between(0, 800) }, fate.backMs);
        this.#judgeTwice(machine, message.id);
        this.#take(message, 0);
        if (fate.dies) return world.kill(machine);
        if (fate.lost !== "after") return answer({ outcome: "sent" }, fate.backMs);
        if (fate.tells) answer({ outcome: "unavailable", error }, fate.backMs);
      });
    });
  }

  /** Of this very event the broker says that it cannot be reached, as long as there are faults. */
  #isStuck({ id }: EventMessage): boolean {
    const { seed, faults } = this.#world.plan;
    return mixed(seed, ...Buffer.from(id)) / 2 ** 32 < faults.stuck && this.#world.strikes(`${id} stuck`);
  }

  /** Whoever brought it before lives, and heard all that it was told: it has written that it is done. */
  #judgeTwice(machine: Machine, id: string): void {
    const first = this.#bringers.get(id);
    if (first === undefined) this.#bringers.set(id, machine);
    else if (first.isAlive && !this.#world.troubled.has(first))
      this.#world.violate("sent-twice", `${id} by ${first.name} and ${machine.name}`);
  }

  #take(message: EventMessage, deliveries: number): void {
    const place = mixed(...Buffer.from(message.key ?? message.id)) % this.#partitions.length;
    this.#world.note(`broker has ${message.id}`);
    this.#partitions[place]?.push({ message, deliveries, dueMs: this.#world.nowMs, inHand: undefined });
    this.#pump();
  }

  /** Hands out once more what was acknowledged, behind everything else. */
  again(which: number): void {
    const message = this.#past[which % Math.max(1, this.#past.length)];
    if (message !== undefined) this.#take(message, 1);
  }

  /** The same of one event, where it was acknowledged. */
  copy(id: string): void {
    const message = this.#past.find((each) => each.id === id);
    if (message !== undefined) this.#take(message, 1);
  }

  /** A stranger, like an event that was acknowledged and that the handlers have processed. */
  bring(as: StrangerAs, which: number, handlers: readonly string[]): void {
    const known = this.#past.filter(
      (each) => !this.#strangers.has(each) && handlers.every((handler) => this.#ledger.isDone(handler, each.id)),
    );
    const like = known[which % Math.max(1, known.length)];
    if (like === undefined) return;
    const message = this.#ledger.strangers.message(as, like, handlers);
    this.#strangers.set(message, as);
    this.#world.note(`somebody brings ${message.id} with another ${as}`);
    this.#take(message, 0);
  }

  subscription(machine: Machine): Subscription {
    const { plan } = this.#world;
    let taking: Taking | undefined;
    return {
      name: "simulated",
      redeliveryMsMax: plan.redeliveryMsMax,
      ...(plan.ackWaitMs === undefined ? {} : { ackWaitMs: plan.ackWaitMs }),
      start: async (taker) => {
        taking = { machine, taker, last: new Map(), isOver: false };
        this.#takings.push(taking);
        this.#pump();
      },
      stop: async ({ drainMs = 0 } = {}) => {
        const mine = taking;
        if (mine === undefined) return;
        mine.isOver = true;
        await new Promise<void>((resolve) => {
          machine.after(drainMs, resolve);
        });
        this.#leave(mine);
      },
    };
  }

  /** The connection of a process is gone. */
  gone(machine: Machine): void {
    for (const taking of this.#takings) if (taking.machine === machine) this.#leave(taking);
  }

  #leave(taking: Taking): void {
    taking.isOver = true;
    for (const entries of this.#partitions) {
      for (const entry of entries) if (entry.inHand?.taker === taking) entry.inHand = undefined;
    }
    this.#pump();
  }

  #pump(): void {
    for (const entries of this.#partitions) {
      const [entry] = entries;
      if (entry === undefined || entry.inHand !== undefined) continue;
      if (entry.dueMs > this.#world.nowMs) continue;
      const living = this.#takings.filter(({ isOver }) => !isOver);
      if (living.length === 0 || this.#world.brokerAwayUntilMs > this.#world.nowMs) continue;
      this.#turn += 1;
      const taking = living[mixed(this.#world.plan.seed, this.#turn) % living.length];
      if (taking !== undefined) this.#hand(entries, entry, taking);
    }
  }

  /** It is back, or time has passed. */
  wake(): void {
    this.#pump();
  }

  #hand(entries: Entry[], entry: Entry, taking: Taking): void {
    const world = this.#world;
    const { scheduler, plan } = world;
    const { machine } = taking;
    entry.deliveries += 1;
    world.counts.deliveries += 1;
    const inHand = { taker: taking, heardMs: world.nowMs };
    entry.inHand = inHand;
    const isMine = (): boolean => entry.inHand === inHand;
    const watch = (): void => {
      if (!isMine() || plan.ackWaitMs === undefined) return;
      const dueMs = inHand.heardMs + plan.ackWaitMs;
      if (dueMs > world.nowMs) return void scheduler.at(dueMs, watch);
      entry.inHand = undefined;
      this.#pump();
    };
    watch();
    const tell = (what: string, run: () => void) => (): Promise<void> =>
      new Promise((resolve, reject) => {
        const fate = world.fateOf(machine, what);
        const reply = (end: () => void): void => {
          scheduler.after(fate.backMs, () => machine.deliver("reply", end));
        };
        const fail = (): void => reply(() => (fate.tells ? reject(new Error("not heard")) : resolve()));
        if (fate.lost === "before" || world.brokerAwayUntilMs > world.nowMs) return this.#unheard(entry, inHand, fail);
        scheduler.after(fate.thereMs, () => {
          run();
          if (fate.dies) return world.kill(machine);
          reply(resolve);
        });
      });
    const { message, deliveries } = entry;
    const answers = (what: string, run: () => void) => (): Promise<void> => {
      this.#ledger.pauses.answered(machine, message.id);
      return tell(what, run)();
    };
    const delivery: Delivery = {
      message,
      deliveries,
      ack: answers("acknowledging", () => {
        const place = entries.indexOf(entry);
        if (place < 0) return;
        world.note(`${machine.name} acknowledges ${message.id}`);
        entries.splice(place, 1);
        this.#past.push(message);
        this.#pump();
      }),
      retry: async (delayMs) =>
        answers("handing back", () => {
          if (!isMine()) return;
          entry.inHand = undefined;
          entry.dueMs = world.nowMs + delayMs;
          scheduler.after(delayMs, () => this.#pump());
        })(),
      working: tell("working", () => {
        if (!plan.isHeedless || world.isQuiet) inHand.heardMs = world.nowMs;
      }),
    };
    scheduler.after(0.5, () => {
      machine.deliver("reply", () => {
        world.note(`${machine.name} is handed ${message.id}, delivery ${deliveries}`);
        this.#ledger.pauses.handed(machine, message.id);
        const before = taking.last.get(entries) ?? Promise.resolve();
        taking.last.set(
          entries,
          before.then(() => this.#given(taking.taker, delivery)),
        );
      });
    });
  }

  #given(taker: Taker, delivery: Delivery): Promise<void> {
    const { message } = delivery;
    if (this.#strangers.get(message) !== "unreadable") return taker.take(delivery);
    return taker.unreadable({ ...delivery, raw: message.payload, headers: {}, error: new Error("no event") });
  }

  /** Without a time to wait for, the broker sees that a connection has lost something, and hands out again. */
  #unheard(entry: Entry, inHand: Entry["inHand"], fail: () => void): void {
    const { scheduler, plan } = this.#world;
    if (plan.ackWaitMs === undefined) {
      scheduler.after(1_000, () => {
        if (entry.inHand !== inHand) return;
        entry.inHand = undefined;
        this.#pump();
      });
    }
    fail();
  }
}
