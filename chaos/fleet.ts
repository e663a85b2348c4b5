/** The servers: started, struck, started again. Each has a faulty line of its own to the store. */
import { createFaultProxy, type FaultProxy } from "../packages/ichido/src/testing/fault-proxy.ts";
import { spawnChild, type Child } from "../packages/ichido/src/testing/child.ts";
import { faultPoints, faultsToEnv, faultsVariable, type FaultName } from "../packages/ichido/src/testing/faults.ts";
import type { Random } from "../simulation/random.ts";
import type { Setup, Wire } from "./setup.ts";
import type { Sight, Tally } from "./tally.ts";
import { lineTo, type Answer, type Mishap, type Request } from "./wire.ts";

const readyMs = 60_000;
const againMs = 100;
const idleMs = 120_000;
/** A server that is to die at a point of the engine gets there within so many passings. */
const passingsMax = 5;

/** Around what makes an effect or an answer last. */
const commitPoints: readonly FaultName[] = ["before-complete", "after-complete", "before-commit", "after-commit"];
/** It lasts by then, and whoever asked was not told: the record knows. */
const afterPoints: readonly FaultName[] = ["after-complete", "after-commit"];
/** What the death of a server at a point shows besides. */
export const seenByDeathAt = (point: FaultName): Sight | undefined =>
  afterPoints.includes(point) ? "ambiguous-commit" : undefined;
/** Every operation passes them. */
const oftenPassed: readonly FaultName[] = [
  "after-claim",
  "before-handler",
  "after-handler",
  "before-complete",
  "after-complete",
];

/** A place for a server, and the server that has it now. */
export class Berth {
  readonly wire: Wire;
  readonly proxy: FaultProxy | undefined;
  /** Whatever befalls it, it is not killed: what it gathers over the hours would show. */
  readonly isVeteran: boolean;
  child: Child | undefined;
  line: ReturnType<typeof lineTo> | undefined;
  /** Something was done to it that is not over. */
  isStruck = false;
  /** It was killed or told to end. */
  isEnding = false;
  /** Requests that it has not answered. */
  underWay = 0;

  constructor(wire: Wire, proxy: FaultProxy | undefined, isVeteran: boolean) {
    this.wire = wire;
    this.proxy = proxy;
    this.isVeteran = isVeteran;
  }

  get isReady(): boolean {
    return this.line !== undefined;
  }

  async ask(request: Request, tally: Tally, mishap?: Mishap): Promise<Answer | undefined> {
    const { line } = this;
    if (line === undefined) return undefined;
    this.underWay += 1;
    try {
      const outcome = await line.ask(request, mishap);
      if (outcome.mishap !== undefined) tally.hit(outcome.mishap);
      if (outcome.answer !== undefined) tally.see(`answer-by-${this.wire}`);
      return outcome.answer;
    } finally {
      this.underWay -= 1;
    }
  }
}

export interface FleetParts {
  readonly program: string;
  readonly setup: Omit<Setup, "url" | "wire">;
  readonly url: string;
  /** There is a network between, and so a place for a faulty proxy. */
  readonly isProxied: boolean;
  readonly servers: number;
  /** So many of them are never killed. */
  readonly veterans: number;
  readonly tally: Tally;
  readonly random: Random;
  /** No server dies at a point of the engine. */
  readonly isCalm: boolean;
}

export class Fleet {
  readonly berths: readonly Berth[];
  readonly #parts: FleetParts;
  readonly #lives: Promise<void>[];
  #stopping = false;
  #isCalm: boolean;
  #asked = 0;

  private constructor(parts: FleetParts, berths: readonly Berth[]) {
    this.#parts = parts;
    this.#isCalm = parts.isCalm;
    this.berths = berths;
    this.#lives = berths.map((berth) => this.#live(berth));
  }

  static async launch(parts: FleetParts): Promise<Fleet> {
    const berths = await Promise.all(
      Array.from({ length: parts.servers }, async (_, index) => {
        const proxy = parts.isProxied ? await createFaultProxy({ target: parts.url }) : undefined;
        return new Berth(index % 2 === 0 ? "http1" : "http2", proxy, index < parts.veterans);
      }),
    );
    return new Fleet(parts, berths);
  }

  get ready(): readonly Berth[] {
    return this.berths.filter((berth) => berth.isReady);
  }

  async #live(berth: Berth): Promise<void> {
    const { program, setup, url, tally, random } = this.#parts;
    while (!this.#stopping) {
      const point = random.pick(random.pick([afterPoints, commitPoints, oftenPassed, faultPoints]));
      const isDoomed = !this.#isCalm && !berth.isVeteran && tally.seconds > 1 && random.chance(0.5);
      const doom = faultsToEnv(point, "kill", random.int(1, passingsMax));
      const told: Setup = { ...setup, url: berth.proxy?.url ?? url, wire: berth.wire };
      const child = await spawnChild(program, {
        args: [JSON.stringify(told)],
        // Beside its program, and gone with it: most of what a server does in its first second is to compile.
        env: { NODE_COMPILE_CACHE: `${program}.compiled`, ...(isDoomed ? doom : { [faultsVariable]: undefined }) },
        onLine: (line) => tally.read(line),
      });
      berth.child = child;
      berth.isEnding = this.#stopping;
      if (this.#stopping) await child.kill();
      const ready = child.waitFor(/^listening on (\d+)$/, readyMs).then(
        ([, port]) => {
          if (child.exit === undefined) berth.line = lineTo(berth.wire, Number(port));
        },
        () => undefined,
      );
      const { signal } = await child.exited;
      await ready;
      berth.line?.close();
      berth.line = undefined;
      if (berth.isEnding) continue;
      // The points are inside of calls.
      if (isDoomed && signal === "SIGKILL") {
        tally.hit("kill-at-point");
        const seen = seenByDeathAt(point);
        if (seen !== undefined) tally.see(seen);
      }
      if (signal !== "SIGKILL") tally.trouble(`a server ended by itself: ${child.lines.slice(-5).join(" | ")}`);
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
  }

  order(line: string): void {
    for (const { child, isReady } of this.berths) if (isReady) child?.write(line);
  }

  /** No handler of any server is at work: whoever stood still has gone on and come to its end. */
  async idle(): Promise<void> {
    this.#asked += 1;
    const name = `idle ${this.#asked}`;
    await Promise.all(
      this.berths.map(async ({ child, isReady }) => {
        if (child === undefined || !isReady) return;
        child.write(name);
        await Promise.race([child.exited, child.waitFor(new RegExp(`^${name}$`), idleMs)]);
      }),
    );
  }

  /** A good network, and every server at work; those that are doomed already may still die. */
  calm(): void {
    this.#isCalm = true;
    for (const { proxy, child } of this.berths) {
      proxy?.heal();
      child?.resume();
    }
  }

  /** Servers that start from now on are doomed again. */
  alarm(): void {
    this.#isCalm = this.#parts.isCalm;
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const berth of this.berths) {
      berth.isEnding = true;
      await berth.child?.stop();
    }
    await Promise.all(this.#lives);
    for (const { proxy } of this.berths) await proxy?.close();
  }
}
