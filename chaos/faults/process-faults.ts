/** What befalls a server's process. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "../../packages/ichido/src/testing/child.ts";
import { leaseMs, standstillMsMax } from "../settings.ts";
import { victimIn, whileStruck, type Fault } from "./fault.ts";

const kill: Fault = {
  name: "kill",
  everyMs: 2_500,
  async strike(scene) {
    const victim = victimIn(scene, true);
    if (victim?.child === undefined) return false;
    victim.isEnding = true;
    await victim.child.kill("SIGKILL");
    return true;
  },
};

/** As a deploy does: it ends what it has begun, and takes nothing new. */
const stop: Fault = {
  name: "stop",
  everyMs: 4_000,
  async strike(scene) {
    const victim = victimIn(scene, true);
    if (victim?.child === undefined) return false;
    victim.isEnding = true;
    await victim.child.stop(standstillMsMax);
    return true;
  },
};

/** Longer than the lease: others take over what it had, and then it goes on. */
const pause: Fault = {
  name: "pause",
  everyMs: 1_500,
  async strike(scene) {
    const victim = victimIn(scene);
    if (victim?.child === undefined) return false;
    const { child } = victim;
    await whileStruck(victim, async () => {
      child.pause();
      await sleep(scene.random.between(leaseMs * 1.3, standstillMsMax));
      child.resume();
    });
    return true;
  },
};

const block: Fault = {
  name: "block",
  everyMs: 2_000,
  async strike(scene) {
    const victim = victimIn(scene);
    if (victim?.child === undefined) return false;
    const ms = Math.round(scene.random.between(leaseMs * 0.8, standstillMsMax * 0.8));
    await whileStruck(victim, async () => {
      victim.child?.write(`block ${ms}`);
      await sleep(ms);
    });
    return true;
  },
};

const dayMs = 86_400_000;
const offsMs = [-dayMs, -3_600_000, -leaseMs, 0, leaseMs, 3_600_000, 400 * dayMs];

/** How far the clock of each process is off: one that is set to what it shows does not step. */
const offOf = new WeakMap<Child, number>();

const clock: Fault = {
  name: "clock-app",
  everyMs: 1_200,
  async strike(scene) {
    const victim = victimIn(scene);
    if (victim?.child === undefined) return false;
    const { child } = victim;
    const offMs = scene.random.pick(offsMs.filter((each) => each !== (offOf.get(child) ?? 0)));
    child.write(`clock ${offMs}`);
    offOf.set(child, offMs);
    return true;
  },
};

export const processFaults: readonly Fault[] = [kill, stop, pause, block, clock];
