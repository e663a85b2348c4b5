/** The processes: relays and consumers, each put in its place again after it ended. */
import { createConsumer } from "../../packages/ichido/src/inbox/consumer.ts";
import { createInbox, type Inbox } from "../../packages/ichido/src/inbox/inbox.ts";
import type { OnceHandler } from "../../packages/ichido/src/inbox/run-once.ts";
import { createOutbox, type Outbox } from "../../packages/ichido/src/outbox/outbox.ts";
import { createRelay } from "../../packages/ichido/src/outbox/relay.ts";
import type { Machine } from "../machine.ts";
import { mixed } from "../random.ts";
import type { Broker } from "./broker.ts";
import { linkDatabase } from "./link.ts";
import type { DatabaseServer } from "./server.ts";
import type { EventsWorld } from "./world.ts";

interface Place {
  readonly role: "relay" | "consumer";
  machine: Machine | undefined;
  stop: ((drainMs: number) => Promise<void>) | undefined;
  returnsMs: number;
}

export interface Fleet {
  readonly places: readonly Place[];
  /** A person's own process. */
  readonly desk: { readonly machine: Machine; readonly outbox: Outbox; readonly inbox: Inbox };
  kill(place: number, awayMs: number): void;
  killConsumers(awayMs: number): void;
  stop(place: number, awayMs: number, drainMs: number): void;
  /** Everybody is there. */
  restore(): void;
}

export function handlerNames({ plan }: EventsWorld): readonly string[] {
  return ["mail", "stock"].slice(0, plan.handlers);
}

function outboxOf(world: EventsWorld, server: DatabaseServer, machine: Machine): Outbox {
  const { attemptsMax, onDead } = world.plan;
  return createOutbox({
    transactions: linkDatabase(world, server, machine),
    topics: { "order.*": { to: "simulated", attemptsMax, onDead } },
    source: "/shop",
  }) as Outbox;
}

function inboxOf(world: EventsWorld, server: DatabaseServer, machine: Machine): Inbox<undefined> {
  const { retentionMs, waitMs } = world.plan;
  return createInbox({ transactions: linkDatabase(world, server, machine), retentionMs, waitMs });
}

/** An effect in the inbox's own database; of some events the first runs fail, before or after it. */
function onceHandler(world: EventsWorld, name: string, machine: Machine): OnceHandler<undefined> {
  const { seed, faults, handlerMsMax } = world.plan;
  return async (_tx, { handle, message, attempt }) => {
    const draw = mixed(seed, ...Buffer.from(message.id), name.length);
    const fails = draw % 1_000 < faults.fails * 1_000 && attempt <= 1 + (draw % 4);
    const isStruck = fails && world.strikes(`${name} of ${message.id} attempt ${attempt} fails`);
    world.note(`${machine.name} runs ${name} of ${message.id}`);
    if (isStruck && draw % 2 === 0) throw new Error("the handler failed");
    const tookMs = world.isQuiet ? 1 : (draw % 97) * 0.01 * handlerMsMax;
    await new Promise<void>((resolve) => {
      machine.after(tookMs, resolve);
    });
    await handle.execute("insert into effects (handler, event) values (?, ?)", [name, message.id]);
    if (isStruck) throw new Error("the handler failed");
  };
}

export function createFleet(world: EventsWorld, server: DatabaseServer, broker: Broker): Fleet {
  const { plan, scheduler } = world;
  const places: Place[] = [];
  for (const role of ["relay", "consumer"] as const) {
    const count = role === "relay" ? plan.relays : plan.consumers;
    for (let each = 0; each < count; each += 1)
      places.push({ role, machine: undefined, stop: undefined, returnsMs: 0 });
  }

  function begun(place: Place, machine: Machine): { start(): Promise<void>; stop(drainMs: number): Promise<void> } {
    if (place.role === "relay") {
      const relay = createRelay(outboxOf(world, server, machine), {
        routes: { simulated: broker.publisher(machine) },
        name: machine.name,
        batch: plan.batch,
        leaseMs: plan.leaseMs,
        idleMs: [40, 700],
        backoffMs: [plan.backoffMs, 1_500],
        pauseMs: [50, 800],
        crashesMax: plan.relayCrashesMax,
        environment: machine.environment,
      });
      return { start: () => relay.start(), stop: (drainMs) => relay.stop({ drainMs }) };
    }
    const consumer = createConsumer({
      subscription: broker.subscription(machine),
      inbox: inboxOf(world, server, machine),
      handlers: handlerNames(world).map((name) => ({
        name,
        topics: ["order.*"],
        once: onceHandler(world, name, machine),
      })),
      attemptsMax: plan.handlerAttemptsMax,
      backoffMs: plan.backoffMs,
      backoffMsMax: 1_500,
      crashesMax: plan.crashesMax,
      inPlaceMs: plan.inPlaceMs,
      replayMs: plan.replayMs,
    });
    return { start: () => consumer.start(), stop: (drainMs) => consumer.stop({ drainMs }) };
  }

  function launch(place: Place): void {
    const machine = world.newMachine(place.role);
    world.mortals.add(machine);
    place.machine = machine;
    machine.deliver("reply", () => {
      const service = begun(place, machine);
      place.stop = (drainMs) => service.stop(drainMs);
      // As a supervisor does: one that cannot start ends, and another one is started.
      service.start().catch(() => leave(place, machine, 300));
    });
  }

  function leave(place: Place, machine: Machine, awayMs: number): void {
    if (place.machine !== machine) return;
    machine.kill();
    server.closeAll((connection) => connection.machine === machine);
    broker.gone(machine);
    away(place, awayMs);
  }

  function away(place: Place, awayMs: number): void {
    place.machine = undefined;
    place.stop = undefined;
    place.returnsMs = world.nowMs + awayMs;
    scheduler.after(awayMs, () => {
      if (place.machine === undefined && place.returnsMs <= world.nowMs) launch(place);
    });
  }

  world.onKilled = (machine) => {
    const seenMs = mixed(plan.seed, machine.number, 21) % 3_000;
    scheduler.after(seenMs, () => {
      server.closeAll((connection) => connection.machine === machine);
      broker.gone(machine);
    });
    const place = places.find((each) => each.machine === machine);
    if (place !== undefined) away(place, 100 + (mixed(plan.seed, machine.number, 22) % 3_000));
  };

  const deskMachine = world.newMachine("desk");
  const desk = {
    machine: deskMachine,
    outbox: outboxOf(world, server, deskMachine),
    inbox: inboxOf(world, server, deskMachine) as Inbox,
  };
  for (const place of places) launch(place);
  return {
    places,
    desk,
    kill(index, awayMs) {
      const place = places[index];
      if (place?.machine === undefined) return;
      world.kill(place.machine);
      if (place.machine === undefined) away(place, awayMs);
    },
    killConsumers(awayMs) {
      places.forEach(({ role }, index) => {
        if (role === "consumer") this.kill(index, awayMs);
      });
    },
    stop(index, awayMs, drainMs) {
      const place = places[index];
      const machine = place?.machine;
      if (place === undefined || machine === undefined || place.stop === undefined) return;
      const { stop } = place;
      world.note(`${machine.name} is told to stop`);
      machine.deliver("reply", () => {
        stop(drainMs).then(
          () => leave(place, machine, awayMs),
          () => leave(place, machine, awayMs),
        );
      });
    },
    restore() {
      for (const place of places) if (place.machine === undefined) launch(place);
    },
  };
}
