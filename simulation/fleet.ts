/** The server processes: those that die or close are replaced. */
import type { Provider } from "./provider.ts";
import { createService, type Service } from "./service.ts";
import type { StoreServer } from "./store-server.ts";
import { isOpen, type World } from "./world.ts";

export interface Fleet {
  /** Some server that takes requests. */
  pick(number: number): Service | undefined;
  /** The server at a place, while it is there. */
  at(slot: number): Service | undefined;
  kill(slot: number, awayMs: number): void;
  close(slot: number, awayMs: number): void;
  /** All places are taken again. */
  restore(): void;
}

export function createFleet(world: World, far: StoreServer, provider: Provider): Fleet {
  const slots: (Service | undefined)[] = [];

  function start(slot: number): void {
    if (slots[slot] !== undefined) return;
    const machine = world.newMachine("s", { drifts: true });
    machine.isNext = slot % 2 === 1;
    world.note(`${machine.name} starts`);
    machine.deliver("timer", () => {
      slots[slot] = createService(world, machine, far, provider);
    });
  }

  function leave(slot: number, awayMs: number): void {
    slots[slot] = undefined;
    world.scheduler.after(awayMs, () => start(slot));
  }

  world.onKilled = (machine) => {
    const slot = slots.findIndex((service) => service?.machine === machine);
    if (slot !== -1) leave(slot, world.plan.leaseMs * machine.random.between(0.05, 1.5));
  };

  function exit(service: Service): void {
    const { machine } = service;
    if (!machine.isAlive) return;
    world.note(`${machine.name} has closed and exits`);
    for (const { record, id, begun } of world.seen.values()) {
      if (!isOpen(record) || record.holdReason !== undefined || record.interim !== undefined) continue;
      const isOurs = world.seen.get(id)?.owners.get(record.owner) === machine;
      // Of a handler past its time nothing is kept in hand any more.
      const isKnown = !begun.has(record.fence) || world.plan.executionMs > world.plan.spanMs;
      if (isOurs && isKnown && machine.isUntroubled && (record.leaseLeftMs ?? 0) > 0) {
        world.violate("shutdown-left", `${id}: ${machine.name} closed and kept a key`);
      }
    }
    machine.hasExited = true;
    machine.kill();
    world.gone(machine);
  }

  function close(slot: number, awayMs: number): void {
    const service = slots[slot];
    if (service === undefined || service.machine.wakesAtMs !== undefined) return;
    world.note(`${service.machine.name} is told to close`);
    leave(slot, awayMs);
    service.machine.isClosing = true;
    service.machine.deliver("reply", () => {
      service.close().then(
        () => exit(service),
        (error: unknown) => world.violate("crashed", `close: ${String(error)}`),
      );
    });
  }

  world.onClosing = (machine) => {
    const slot = slots.findIndex((service) => service?.machine === machine);
    if (slot !== -1 && !world.isQuiet) close(slot, world.plan.leaseMs * machine.random.between(0.05, 1.5));
  };

  for (let slot = 0; slot < world.plan.servers; slot += 1) start(slot);
  return {
    pick(number) {
      const present = slots.filter((service) => service !== undefined);
      return present.length === 0 ? undefined : present[number % present.length];
    },
    at: (slot) => slots[slot],
    kill(slot, awayMs) {
      const service = slots[slot];
      if (service === undefined) return;
      world.note(`${service.machine.name} is killed`);
      service.machine.kill();
      leave(slot, awayMs);
      world.gone(service.machine);
    },
    close,
    restore() {
      for (let slot = 0; slot < world.plan.servers; slot += 1) start(slot);
    },
  };
}
