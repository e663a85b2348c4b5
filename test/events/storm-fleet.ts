/** The storm's processes: started, killed at the worst moment, started again. */
import { spawnChild, type Child } from "ichido/testing";
import { inOneFile } from "../support/in-one-file.ts";

export interface Fleet {
  readonly kills: number;
  /** Processes that ended by themselves, as when the broker was away while they started. */
  readonly failures: readonly string[];
  readonly duplicates: number;
  readonly deaths: readonly string[];
  /** Kills the one whose turn it is, unless its companion is not at work: somebody must get on. */
  kill(role: string): Promise<boolean>;
  stop(): Promise<void>;
}

interface Berth {
  readonly role: string;
  child: Child | undefined;
  ready: boolean;
  killed: boolean;
}

const berths = 2;
const againMs = 200;

export function launchFleet(
  roles: readonly string[],
  argsOf: (role: string) => readonly string[],
  ports: { add(port: number): void; remove(port: number): void },
): Fleet {
  const all: Berth[] = roles.flatMap((role) =>
    Array.from({ length: berths }, () => ({ role, child: undefined, ready: false, killed: false })),
  );
  const failures: string[] = [];
  const deaths: string[] = [];
  const turns = new Map<string, number>();
  const lives: Promise<void>[] = [];
  let kills = 0;
  let duplicates = 0;
  let stopping = false;

  async function live(berth: Berth): Promise<void> {
    while (!stopping) {
      const child = await spawnChild(await inOneFile(new URL("./storm.child.ts", import.meta.url)), {
        args: argsOf(berth.role),
      });
      berth.child = child;
      berth.killed = false;
      // The storm ended while this one was being made.
      if (stopping) await child.kill("SIGKILL");
      let port: number | undefined;
      const ready = child.waitFor(/^ready$/, 60_000).then(
        () => {
          port = Number(/^port (\d+)$/.exec(child.lines.find((line) => line.startsWith("port")) ?? "")?.[1]);
          if (!Number.isNaN(port)) ports.add(port);
          berth.ready = true;
        },
        () => undefined,
      );
      await child.exited;
      await ready;
      berth.ready = false;
      if (port !== undefined) ports.remove(port);
      duplicates += child.lines.filter((line) => line.startsWith("duplicate ")).length;
      deaths.push(...child.lines.filter((line) => line.startsWith("event dead")));
      if (berth.killed || stopping) continue;
      failures.push(child.lines.slice(-8).join(" | "));
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
  }
  for (const berth of all) lives.push(live(berth));

  return {
    get kills() {
      return kills;
    },
    failures,
    get duplicates() {
      return duplicates;
    },
    deaths,
    async kill(role) {
      const pair = all.filter((berth) => berth.role === role);
      const turn = turns.get(role) ?? 0;
      const [victim, companion] = [pair[turn % berths], pair[(turn + 1) % berths]];
      if (victim?.ready !== true || companion?.ready !== true) return false;
      turns.set(role, turn + 1);
      victim.killed = true;
      victim.ready = false;
      kills += 1;
      await victim.child?.kill("SIGKILL");
      return true;
    },
    async stop() {
      stopping = true;
      for (const { child } of all) await child?.kill("SIGKILL");
      await Promise.all(lives);
    },
  };
}
