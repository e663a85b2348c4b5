/** Writers, relays and consumers: started, struck, started again. Each has faulty lines of its own to store and broker. */
import { setTimeout as sleep } from "node:timers/promises";
import { createFaultProxy, type FaultProxy } from "../../packages/ichido/src/testing/fault-proxy.ts";
import { spawnChild, type Child } from "../../packages/ichido/src/testing/child.ts";
import type { Victim } from "../faults/fault.ts";
import type { Violation } from "../history.ts";
import type { Tally } from "../tally.ts";
import { roles, type EventsSetup, type Role } from "./setup.ts";

const readyMs = 60_000;
const againMs = 100;

export class Berth implements Victim {
  readonly role: Role;
  readonly proxy: FaultProxy | undefined;
  readonly brokerProxy: FaultProxy;
  child: Child | undefined;
  readonly isVeteran = false;
  isReady = false;
  isStruck = false;
  isEnding = false;
  /** Calls of its process, as it last told. */
  underWay = 0;

  constructor(role: Role, proxy: FaultProxy | undefined, brokerProxy: FaultProxy) {
    this.role = role;
    this.proxy = proxy;
    this.brokerProxy = brokerProxy;
  }
}

export interface EventsFleetParts {
  readonly program: string;
  readonly setup: Omit<EventsSetup, "role">;
  /** There is a network between it and its processes. */
  readonly isProxied: boolean;
  /** Of each role. */
  readonly each: number;
  readonly tally: Tally;
  readonly violations: Violation[];
}

export class EventsFleet {
  readonly berths: readonly Berth[];
  readonly #parts: EventsFleetParts;
  readonly #lives: Promise<void>[];
  #stopping = false;
  #standing: string[] = [];

  private constructor(parts: EventsFleetParts, berths: readonly Berth[]) {
    this.#parts = parts;
    this.berths = berths;
    this.#lives = berths.map((berth) => this.#live(berth));
  }

  static async launch(parts: EventsFleetParts): Promise<EventsFleet> {
    const { each, isProxied, setup } = parts;
    const berths: Berth[] = [];
    for (const role of roles) {
      for (let count = 0; count < each; count += 1) {
        const proxy = isProxied ? await createFaultProxy({ target: setup.url }) : undefined;
        berths.push(new Berth(role, proxy, await createFaultProxy({ target: setup.brokerUrl })));
      }
    }
    return new EventsFleet(parts, berths);
  }

  get ready(): readonly Berth[] {
    return this.berths.filter(({ isReady }) => isReady);
  }

  async #live(berth: Berth): Promise<void> {
    const { program, setup, tally } = this.#parts;
    while (!this.#stopping) {
      const told: EventsSetup = {
        ...setup,
        role: berth.role,
        url: berth.proxy?.url ?? setup.url,
        brokerUrl: berth.brokerProxy.url,
      };
      const child = await spawnChild(program, {
        args: [JSON.stringify(told)],
        env: { NODE_COMPILE_CACHE: `${program}.compiled` },
        onLine: (line) => this.#read(berth, line),
      });
      Object.assign(berth, { child, underWay: 0, isEnding: this.#stopping });
      if (this.#stopping) await child.kill();
      for (const line of this.#standing) child.write(line);
      const ready = child.waitFor(/^ready$/, readyMs).then(
        () => (berth.isReady = child.exit === undefined),
        () => false,
      );
      const { signal } = await child.exited;
      const wasReady = await ready;
      berth.isReady = false;
      berth.underWay = 0;
      // One that found store or broker away when it started is started again.
      if (!berth.isEnding && wasReady && signal !== "SIGKILL")
        tally.trouble(`a ${berth.role} ended by itself: ${child.lines.slice(-5).join(" | ")}`);
      await sleep(againMs);
    }
  }

  #read(berth: Berth, line: string): void {
    const { tally, violations } = this.#parts;
    const [word, name = "", ...rest] = line.split(" ");
    if (word === "under-way") berth.underWay = Number(name);
    else if (word === "violation") violations.push({ invariant: name, detail: `${berth.role}: ${rest.join(" ")}` });
    else tally.read(line);
  }

  /** To all, and where it `stands`, to those that start later as well. */
  order(line: string, stands = false): void {
    if (stands) this.#standing.push(line);
    for (const { child } of this.berths) child?.write(line);
  }

  /** A good network, and every process at work. */
  calm(): void {
    this.order("calm", true);
    for (const { proxy, brokerProxy, child } of this.berths) {
      proxy?.heal();
      brokerProxy.heal();
      child?.resume();
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all(
      this.berths.map(async (berth) => {
        berth.isEnding = true;
        await berth.child?.stop();
      }),
    );
    await Promise.all(this.#lives);
    for (const { proxy, brokerProxy } of this.berths) await Promise.all([proxy?.close(), brokerProxy.close()]);
  }
}
