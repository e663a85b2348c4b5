/** What befalls the store itself, and with it everybody. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend } from "../backends/backend.ts";
import { leapMsMax } from "../settings.ts";
import type { Fault, Scene } from "./fault.ts";

/** Answers of this size soon need room, and within this time at the latest. */
const fillingBytes = 48_000;
const fillsMs = 2_000;

const isBusy = ({ fleet }: Scene): boolean => fleet.ready.some(({ underWay }) => underWay > 0);

const restart: Fault = {
  name: "store-restart",
  everyMs: 3_000,
  needs: "store",
  async strike(scene) {
    const wasBusy = isBusy(scene);
    await scene.backend.restart?.();
    return wasBusy;
  },
};

/** And a new one is made that follows. */
const failover: Fault = {
  name: "failover",
  everyMs: 1_500,
  needs: "store",
  async strike(scene) {
    const wasBusy = isBusy(scene);
    await scene.backend.failOver?.();
    return wasBusy;
  },
};

/** For a moment, then it is well again. */
function forAWhile(name: string, change: (backend: Backend, on: boolean) => Promise<void> | undefined): Fault {
  return {
    name,
    everyMs: 3_000,
    needs: "store",
    async strike(scene) {
      const wasBusy = isBusy(scene);
      await change(scene.backend, true);
      await sleep(scene.random.int(150, 600));
      await change(scene.backend, false);
      return wasBusy;
    },
  };
}

const readOnly = forAWhile("store-read-only", (backend, on) => backend.readOnly?.(on));

/** Until something was refused for want of room, and a moment longer: what fits into the files as they are is taken. */
const full: Fault = {
  name: "store-full",
  everyMs: 4_000,
  needs: "store",
  async strike(scene) {
    const { backend, orders, random } = scene;
    const wasBusy = isBusy(scene);
    const refused = async (): Promise<number> => (await backend.refused?.()) ?? 0;
    const before = await refused();
    const sinceMs = performance.now();
    await backend.full?.(true);
    orders.paddingBytes = fillingBytes;
    try {
      while ((await refused()) === before && performance.now() - sinceMs < fillsMs) await sleep(20);
      await sleep(random.int(100, 400));
      return wasBusy && (await refused()) > before;
    } finally {
      orders.paddingBytes = 0;
      await backend.full?.(false);
    }
  },
};

/** Forward and back again: between two leaps the clock runs evenly. */
const leap: Fault = {
  name: "clock-store",
  everyMs: 2_500,
  async strike(scene) {
    const wasBusy = isBusy(scene);
    await scene.backend.leap?.(scene.random.int(leapMsMax / 4, leapMsMax));
    await sleep(scene.random.int(200, 1_500));
    await scene.backend.leap?.(0);
    return wasBusy;
  },
};

const lock: Fault = {
  name: "store-locked",
  everyMs: 2_500,
  needs: "store",
  async strike(scene) {
    const wasBusy = isBusy(scene);
    await scene.backend.lock?.(scene.random.int(100, 1_200));
    return wasBusy;
  },
};

const byMeans: Readonly<Partial<Record<keyof Backend, Fault>>> = {
  restart,
  readOnly,
  full,
  leap,
  lock,
  failOver: failover,
};

/** Those that this store can suffer: for each the backend says how. */
export function storeFaultsOf(backend: Backend): readonly Fault[] {
  return Object.entries(byMeans).flatMap(([means, fault]) => (means in backend ? [fault] : []));
}
