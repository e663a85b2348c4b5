/** Turns of load: bare, candidate, candidate, bare, so that whatever else the machine does hits both alike. */
import { bareServers, type Server } from "./catalogue.ts";
import { Child, keepStoreOff } from "./child.ts";
import type { Load, Mix, Spent, Turn } from "./contract.ts";
import { familyUs, helperThreadsUs } from "./proc.ts";
import type { Place, Services } from "./services.ts";

export interface Plan {
  readonly servers: readonly Server[];
  readonly mixes: readonly Mix[];
  readonly bodies: readonly number[];
  readonly rounds: number;
  /** Of a turn, which ends earlier after so many requests. */
  readonly seconds: number;
  readonly requests?: number;
  readonly connections: number;
  /**
   * Server and load on a core each, private stores on any but the server's: for rates. CPU per request does not need it,
   * and a busy machine does not bear it.
   */
  readonly pinned: boolean;
}

/** Per request, where nothing else is said. */
export interface Sample {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUs: number;
  readonly helperUs: number | undefined;
  /** Of the store's server, per 10,000 requests. */
  readonly storeMs: number | undefined;
  readonly allocatedBytes: number;
  readonly residentBytes: number;
  /** The share of its core that the generator needed. */
  readonly generatorBusy: number;
}

export interface Measured {
  readonly server: Server;
  readonly mix: Mix;
  readonly bodyBytes: number;
  readonly rounds: readonly { readonly bare: Sample; readonly own: Sample }[];
}

export interface Outcome {
  readonly measured: readonly Measured[];
  /** By server, where keys are kept in its own memory. */
  readonly bytesPerKey: Readonly<Record<string, number>>;
}

/** Enough for compiled code; a slow server gets no longer than so many seconds. */
const warmRequests = 30_000;
const warmSecondsMax = 6;
const fillSecondsMax = 60;

/** What it takes to start a server, and to warm it for a mix, as a rule. */
const startSeconds = 3;
const warmSeconds = 4;

/** Seconds that the plan will take, about. */
export function estimate({ servers, mixes, bodies, rounds, seconds }: Plan): number {
  const each = warmSeconds + rounds * 4 * (seconds + 0.05);
  return servers.length * (startSeconds + mixes.length * bodies.length * each);
}

export interface Running {
  readonly server: Server;
  readonly child: Child;
  readonly port: number;
  readonly storePid: number | undefined;
}

export async function startServer(server: Server, { url, pid }: Place, pinned = false): Promise<Running> {
  const store = server.grouped === true ? `${server.store}-grouped` : server.store;
  const [child, port] = await Child.start("server.ts", [server.file, store, url], pinned ? "server" : "any");
  return { server, child, port: port as number, storePid: pid };
}

type Length = Pick<Turn, "seconds" | "requests">;

export function turnOf({ server }: Running, mix: Turn["mix"], bodyBytes: number, { seconds, requests }: Length): Turn {
  const protects = server.store !== "none";
  const status = mix === "mismatch" && protects ? (server.mismatchStatus ?? 422) : 201;
  return { mix, bodyBytes, seconds, requests, status, replayStatus: server.replayStatus ?? 201 };
}

export class Bench {
  readonly #load: Child;
  readonly #connections: number;
  /** What the turn has caused ends meanwhile. */
  readonly #rest: () => Promise<void>;

  constructor(load: Child, connections: number, rest = async (): Promise<void> => undefined) {
    this.#load = load;
    this.#connections = connections;
    this.#rest = rest;
  }

  async turn(running: Running, turn: Turn): Promise<{ readonly sample: Sample; readonly load: Load }> {
    const { child, port, storePid } = running;
    await this.#load.ask({ do: "connect", port, connections: this.#connections });
    await child.ask("begin");
    const [helpers, store] = [helperThreadsUs(child.pid), storePid && familyUs(storePid)];
    const load = (await this.#load.ask({ do: "run", turn }).catch((error: Error) => {
      throw new Error(`${running.server.name}: ${error.message}`);
    })) as Load;
    await this.#rest();
    const [helpersAfter, storeAfter] = [helperThreadsUs(child.pid), storePid && familyUs(storePid)];
    const spent = (await child.ask("end")) as Spent;
    await this.#load.ask({ do: "disconnect" });
    const { requests } = load;
    const sample = {
      perSecond: requests / load.seconds,
      p50Ms: load.p50Ms,
      p99Ms: load.p99Ms,
      cpuUs: spent.cpuUs / requests,
      helperUs: helpers === undefined ? undefined : ((helpersAfter ?? 0) - helpers) / requests,
      storeMs: store === undefined ? undefined : (((storeAfter ?? 0) - store) / requests) * 10,
      allocatedBytes: spent.allocatedBytes / requests,
      residentBytes: spent.residentBytes,
      generatorBusy: load.busy,
    };
    return { sample, load };
  }

  /** The keys that replays ask for. */
  async fill(running: Running, bodyBytes: number): Promise<void> {
    await this.turn(running, turnOf(running, "fill", bodyBytes, { seconds: fillSecondsMax }));
  }

  /**
   * Compiled code and full pools; answers how many keys were new. Before each mix: code that was compiled for one is
   * compiled again for another, and a full collection has V8 forget what it had learnt.
   */
  async warm(running: Running, mix: Mix, bodyBytes: number): Promise<number> {
    const length = { seconds: warmSecondsMax, requests: warmRequests };
    return (await this.turn(running, turnOf(running, mix, bodyBytes, length))).load.newKeys;
  }
}

function mean(one: Sample, other: Sample): Sample {
  const names = Object.keys(one) as (keyof Sample)[];
  const of = (name: keyof Sample): number | undefined => {
    const [a, b] = [one[name], other[name]];
    return a === undefined || b === undefined ? undefined : (a + b) / 2;
  };
  return Object.fromEntries(names.map((name) => [name, of(name)])) as unknown as Sample;
}

const noPlace: Place = { url: "" };

class Run {
  readonly #plan: Plan;
  readonly #services: Services;
  readonly #bench: Bench;
  readonly #children: Child[];
  readonly #bares = new Map<string, Running>();
  readonly #measured: Measured[] = [];
  readonly #bytesPerKey = new Map<string, number>();

  constructor(plan: Plan, services: Services, generator: Child) {
    this.#plan = plan;
    this.#services = services;
    this.#children = [generator];
    this.#bench = new Bench(generator, plan.connections);
  }

  async #started(server: Server, place: Place): Promise<Running> {
    const running = await startServer(server, place, this.#plan.pinned);
    this.#children.push(running.child);
    for (const bodyBytes of this.#plan.bodies) await this.#bench.fill(running, bodyBytes);
    return running;
  }

  /** Of the same framework; bare frameworks themselves are held against Express. */
  async #bareOf({ framework, store }: Server): Promise<Running> {
    const like = store === "none" ? "express" : framework;
    const server = bareServers.find((each) => each.framework === like) as Server;
    const known = this.#bares.get(server.name);
    if (known !== undefined) return known;
    const bare = await this.#started(server, noPlace);
    // What is asked of it is the same in every mix.
    for (const bodyBytes of this.#plan.bodies) await this.#bench.warm(bare, "new", bodyBytes);
    this.#bares.set(server.name, bare);
    return bare;
  }

  async measure(server: Server, say: (line: string) => void): Promise<void> {
    const { mixes, bodies, rounds } = this.#plan;
    const place = await this.#services.placeOf(server);
    if (this.#plan.pinned && place.pid !== undefined) keepStoreOff(place.pid);
    const bare = await this.#bareOf(server);
    const own = await this.#started(server, place);
    const keepsAll = server.store === "memory";
    if (keepsAll) await this.#bench.warm(own, "new", bodies[0] ?? 0);
    const heapBefore = keepsAll ? ((await own.child.ask("heap")) as number) : 0;
    let newKeys = 0;
    for (const [mix, bodyBytes] of mixes.flatMap((each) => bodies.map((bytes) => [each, bytes] as const))) {
      const seen: { bare: Sample; own: Sample }[] = [];
      const turn = async (running: Running): Promise<Sample> => {
        const { sample, load } = await this.#bench.turn(running, turnOf(running, mix, bodyBytes, this.#plan));
        if (running === own) newKeys += load.newKeys;
        return sample;
      };
      newKeys += await this.#bench.warm(own, mix, bodyBytes);
      for (let round = 1; round <= rounds; round += 1) {
        say(`${server.name}, ${mix}, ${bodyBytes} B, round ${round} of ${rounds}`);
        const first = await turn(bare);
        const candidate = mean(await turn(own), await turn(own));
        seen.push({ bare: mean(first, await turn(bare)), own: candidate });
      }
      this.#measured.push({ server, mix, bodyBytes, rounds: seen });
    }
    if (keepsAll && newKeys > 0) {
      const grown = ((await own.child.ask("heap")) as number) - heapBefore;
      this.#bytesPerKey.set(server.name, grown / newKeys);
    }
    await own.child.ask("close");
    own.child.end();
  }

  outcome(): Outcome {
    return { measured: this.#measured, bytesPerKey: Object.fromEntries(this.#bytesPerKey) };
  }

  end(): void {
    for (const child of this.#children) child.end();
  }
}

export async function run(plan: Plan, services: Services, say: (line: string) => void): Promise<Outcome> {
  const [generator] = await Child.start("load.ts", [], plan.pinned ? "load" : "any");
  const made = new Run(plan, services, generator);
  try {
    for (const server of plan.servers) {
      const missing = await services.whyMissing(server);
      if (missing === undefined) await made.measure(server, say);
      else console.log(`SKIPPED ${server.name}: ${missing}`);
    }
    return made.outcome();
  } finally {
    made.end();
  }
}
