/** Turns of load: bare, candidate, candidate, bare, so that whatever else the machine does hits both alike. */
import { bareServers, type Server } from "./catalogue.ts";
import { Child } from "./child.ts";
import type { Load, Mix, Spent, Turn } from "./contract.ts";
import { familyUs, helperThreadsUs } from "./proc.ts";
import type { Place } from "./services.ts";

export interface Plan {
  readonly servers: readonly Server[];
  readonly mixes: readonly Mix[];
  readonly bodies: readonly number[];
  readonly rounds: number;
  readonly seconds: number;
  readonly connections: number;
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
  readonly bytesPerKey: ReadonlyMap<string, number>;
}

const warmSeconds = 1;
const startSeconds = 1;

/** Seconds that the plan will take, about. */
export function estimate({ servers, mixes, bodies, rounds, seconds }: Plan): number {
  const turns = mixes.length * bodies.length * rounds * 4;
  const warming = startSeconds + warmSeconds * 4;
  return servers.length * (turns * (seconds + 0.05) + warming);
}

interface Running {
  readonly server: Server;
  readonly child: Child;
  readonly port: number;
  readonly storePid: number | undefined;
}

async function startServer(server: Server, { url, pid }: Place): Promise<Running> {
  const store = server.grouped === true ? `${server.store}-grouped` : server.store;
  const [child, port] = await Child.start("server.ts", [server.file, store, url], 0);
  return { server, child, port: port as number, storePid: pid };
}

function turnOf({ server }: Running, mix: Turn["mix"], bodyBytes: number, seconds: number): Turn {
  const protects = server.store !== "none";
  const status = mix === "mismatch" && protects ? (server.mismatchStatus ?? 422) : 201;
  return { mix, bodyBytes, seconds, status, replayStatus: server.replayStatus ?? 201 };
}

class Bench {
  readonly #load: Child;
  readonly #connections: number;

  constructor(load: Child, connections: number) {
    this.#load = load;
    this.#connections = connections;
  }

  async turn(running: Running, turn: Turn): Promise<{ readonly sample: Sample; readonly load: Load }> {
    const { child, port, storePid } = running;
    await this.#load.ask({ do: "connect", port, connections: this.#connections });
    await child.ask("begin");
    const [helpers, store] = [helperThreadsUs(child.pid), storePid && familyUs(storePid)];
    const load = (await this.#load.ask({ do: "run", turn }).catch((error: Error) => {
      throw new Error(`${running.server.name}: ${error.message}`);
    })) as Load;
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

  /** Compiled code, full pools, and the keys that replays ask for. */
  async warm(running: Running, bodies: readonly number[]): Promise<void> {
    for (const bodyBytes of bodies) {
      await this.turn(running, turnOf(running, "fill", bodyBytes, Number.POSITIVE_INFINITY));
      const each = warmSeconds / bodies.length;
      await this.turn(running, turnOf(running, "new", bodyBytes, each));
      await this.turn(running, turnOf(running, "replay", bodyBytes, each));
    }
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

export async function run(
  plan: Plan,
  placeOf: (server: Server) => Promise<Place>,
  say: (line: string) => void,
): Promise<Outcome> {
  const children: Child[] = [];
  const bares = new Map<string, Running>();
  const measured: Measured[] = [];
  const bytesPerKey = new Map<string, number>();
  const [generator] = await Child.start("load.ts", [], 1);
  children.push(generator);
  const bench = new Bench(generator, plan.connections);

  const started = async (server: Server): Promise<Running> => {
    const running = await startServer(server, await placeOf(server));
    children.push(running.child);
    await bench.warm(running, plan.bodies);
    return running;
  };

  try {
    for (const server of plan.servers) {
      const bareServer = bareServers.find(({ framework }) => framework === server.framework) as Server;
      const reference = server.store === "none" ? (bareServers[0] as Server) : bareServer;
      const bare = bares.get(reference.name) ?? (await started(reference));
      bares.set(reference.name, bare);
      const own = await started(server);
      const heapBefore = (await own.child.ask("heap")) as number;
      let newKeys = 0;
      for (const [mix, bodyBytes] of plan.mixes.flatMap((each) => plan.bodies.map((bytes) => [each, bytes] as const))) {
        const rounds: { bare: Sample; own: Sample }[] = [];
        const turn = async (running: Running): Promise<Sample> => {
          const done = await bench.turn(running, turnOf(running, mix, bodyBytes, plan.seconds));
          if (running === own) newKeys += done.load.newKeys;
          return done.sample;
        };
        for (let round = 0; round < plan.rounds; round += 1) {
          say(`${server.name}, ${mix}, ${bodyBytes} B, round ${round + 1} of ${plan.rounds}`);
          const first = await turn(bare);
          const second = mean(await turn(own), await turn(own));
          rounds.push({ bare: mean(first, await turn(bare)), own: second });
        }
        measured.push({ server, mix, bodyBytes, rounds });
      }
      if (server.store === "memory" && newKeys > 0) {
        bytesPerKey.set(server.name, (((await own.child.ask("heap")) as number) - heapBefore) / newKeys);
      }
      await own.child.ask("close");
      own.child.end();
    }
    return { measured, bytesPerKey };
  } finally {
    for (const child of children) child.end();
  }
}
