/** The processes: relays and consumers, each put in its place again after it ended. */
import type { Ichido } from "../../packages/ichido/src/core/engine/create-ichido.ts";
import { createConsumer } from "../../packages/ichido/src/inbox/consumer.ts";
import { createInbox, type Inbox } from "../../packages/ichido/src/inbox/inbox.ts";
import { createOutbox, type Outbox } from "../../packages/ichido/src/outbox/outbox.ts";
import { createRelay } from "../../packages/ichido/src/outbox/relay.ts";
import type { Machine } from "../machine.ts";
import { mixed } from "../random.ts";
import type { Broker } from "./broker.ts";
import { handlersOf } from "./handlers.ts";
import { createLeases, createLeaseStore } from "./leases.ts";
import type { Ledger } from "./ledger.ts";
import { linkDatabase } from "./link.ts";
import type { Provider } from "./provider.ts";
import type { DatabaseServer } from "./server.ts";
import type { EventsWorld } from "./world.ts";

interface Place {
  readonly role: "relay" | "consumer";
  machine: Machine | undefined;
  stop: ((drainMs: number) => Promise<void>) | undefined;
  returnsMs: number;
  /** Away because of a strike: comes back in its own time, whatever else is over. */
  isStruck: boolean;
}

export interface Fleet {
  readonly places: readonly Place[];
  /** A person's own process. */
  readonly desk: { readonly machine: Machine; readonly outbox: Outbox; readonly inbox: Inbox };
  kill(place: number, awayMs: number, by?: "fault" | "strike"): void;
  /** All of them, right after an effect. */
  strikeConsumers(awayMs: number): void;
  stop(place: number, awayMs: number, drainMs: number): void;
  /** Everybody is there. */
  restore(): void;
}

function outboxOf(world: EventsWorld, server: DatabaseServer, machine: Machine): Outbox {
  const { attemptsMax, onDead, outboxKeeps } = world.plan;
  return createOutbox({
    transactions: linkDatabase(world, server, machine),
    topics: { "order.*": { to: "simulated", attemptsMax, onDead } },
    source: "/shop",
    ...(outboxKeeps === undefined ? {} : { keepDeadMs: outboxKeeps.deadMs, keepSentMs: outboxKeeps.sentMs }),
    environment: machine.environment,
  }) as Outbox;
}

function inboxOf(
  world: EventsWorld,
  server: DatabaseServer,
  machine: Machine,
  ichido?: Pick<Ichido, "run">,
): Inbox<undefined> {
  const { retentionMs, waitMs } = world.plan;
  return createInbox({
    transactions: linkDatabase(world, server, machine),
    retentionMs,
    lockTimeoutMs: waitMs,
    environment: machine.environment,
    ...(ichido === undefined ? {} : { ichido }),
  });
}

export function createFleet(
  world: EventsWorld,
  {
    server,
    broker,
    provider,
    ledger,
  }: {
    readonly server: DatabaseServer;
    readonly broker: Broker;
    readonly provider: Provider;
    readonly ledger: Ledger;
  },
): Fleet {
  const { plan, scheduler } = world;
  const leaseStore = createLeaseStore(world, ledger);
  const places: Place[] = [];
  for (const role of ["relay", "consumer"] as const) {
    const count = role === "relay" ? plan.relays : plan.consumers;
    for (let each = 0; each < count; each += 1)
      places.push({ role, machine: undefined, stop: undefined, returnsMs: 0, isStruck: false });
  }

  function begun(place: Place, machine: Machine): { start(): Promise<void>; stop(drainMs: number): Promise<void> } {
    if (place.role === "relay") {
      const relay = createRelay(outboxOf(world, server, machine), {
        routes: { simulated: broker.publisher(machine) },
        name: machine.name,
        batch: plan.batch,
        leaseMs: plan.leaseMs,
        idleMs: 50,
        idleMsMax: 2_000,
        backoffMs: plan.backoffMs,
        backoffMsMax: 1_500,
        pauseMs: 50,
        pauseMsMax: 800,
        crashesMax: plan.relayCrashesMax,
      });
      return { start: () => relay.start(), stop: (drainMs) => relay.stop({ drainMs }) };
    }
    const ichido = plan.leased === "none" ? undefined : createLeases(world, machine, leaseStore);
    const consumer = createConsumer({
      subscription: broker.subscription(machine),
      inbox: inboxOf(world, server, machine, ichido),
      handlers: handlersOf({ world, ledger, machine, provider }),
      attemptsMax: plan.handlerAttemptsMax,
      backoffMs: plan.backoffMs,
      backoffMsMax: 1_500,
      crashesMax: plan.crashesMax,
      parkAfterMs: plan.parkAfterMs,
      inPlaceMs: plan.inPlaceMs,
      replayMs: plan.replayMs,
      // Where there is a listener nothing is said to the process.
      onEvent: () => undefined,
    });
    return {
      start: () => consumer.start(),
      async stop(drainMs) {
        await consumer.stop({ drainMs });
        await ichido?.close();
      },
    };
  }

  function launch(place: Place): void {
    const machine = world.newMachine(place.role);
    world.mortals.add(machine);
    place.machine = machine;
    place.isStruck = false;
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
    kill(index, awayMs, by = "fault") {
      const place = places[index];
      if (place?.machine === undefined) return;
      world.kill(place.machine, by);
      if (place.machine !== undefined) return;
      place.isStruck = by === "strike";
      away(place, awayMs);
    },
    strikeConsumers(awayMs) {
      places.forEach(({ role }, index) => {
        if (role === "consumer") this.kill(index, awayMs, "strike");
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
      for (const place of places) if (place.machine === undefined && !place.isStruck) launch(place);
    },
  };
}
