/** A lane under supervision: started, killed by SIGKILL where it stands, started again, with the time that took. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { StartError } from "../errors.ts";
import type { EventNote, KillPoint, LaneName } from "./contract.ts";
import type { EventLog } from "./event-log.ts";
import type { FromLane, ToLane } from "./lane/messages.ts";

/** What is done to a lane's surroundings while it stands at a point. */
export type Meanwhile = (run: string, goOn: () => void) => Promise<void>;

export interface LaneProcess {
  readonly lane: LaneName;
  readonly pid: number;
  /** Stays the same over restarts. */
  readonly port: number;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
  /** The next request that comes to this point stops there, and the process is killed. */
  killAt(point: KillPoint): Promise<void>;
  /** Likewise, but that it goes on when `meanwhile` says so, or has ended. */
  pauseAt(point: KillPoint, meanwhile: Meanwhile): Promise<void>;
  disarm(): Promise<void>;
  /** Resolves when the lane answers again, at once where it is not down. */
  up(): Promise<void>;
  stop(): Promise<void>;
}

export interface LaneSettings {
  readonly folder: string;
  readonly bankUrl: string;
  /** More variables of its environment. */
  readonly variables?: Readonly<Record<string, string>>;
}

const START_MS = 30_000;
const STOP_MS = 3_000;
const RESTART_MS = 500;

export async function startLaneProcess(lane: LaneName, settings: LaneSettings, log: EventLog): Promise<LaneProcess> {
  const supervised = new SupervisedLane(lane, settings, log);
  await supervised.up();
  return supervised;
}

class SupervisedLane implements LaneProcess {
  readonly lane: LaneName;
  readonly #settings: LaneSettings;
  readonly #log: EventLog;
  #child: ChildProcess | undefined;
  #up: Promise<void>;
  #stopping = false;
  #meanwhile: Meanwhile | undefined;
  port = 0;
  restarts = 0;
  lastRestartMs: number | undefined;

  constructor(lane: LaneName, settings: LaneSettings, log: EventLog) {
    this.lane = lane;
    this.#settings = settings;
    this.#log = log;
    this.#up = this.#launch([]);
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  up(): Promise<void> {
    return this.#up;
  }

  killAt(point: KillPoint): Promise<void> {
    this.#meanwhile = undefined;
    return this.#order({ kind: "stop-at", point });
  }

  pauseAt(point: KillPoint, meanwhile: Meanwhile): Promise<void> {
    this.#meanwhile = meanwhile;
    return this.#order({ kind: "stop-at", point });
  }

  disarm(): Promise<void> {
    this.#meanwhile = undefined;
    return this.#order({ kind: "disarm" });
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    if (this.#child !== undefined) await end(this.#child);
  }

  #note(child: ChildProcess, struck: readonly string[], note: Omit<EventNote, "who" | "lane" | "pid" | "run">): void {
    const known = { who: "supervisor", lane: this.lane, pid: child.pid ?? 0 } as const;
    const [run, ...runs] = struck;
    this.#log.note({
      ...known,
      ...(run === undefined ? {} : { run }),
      ...(runs.length === 0 ? {} : { runs }),
      ...note,
    });
  }

  /** `struck`: the runs that the last life worked for when it ended. */
  async #launch(struck: readonly string[]): Promise<void> {
    const beganMs = performance.now();
    const child = forkLane(this.lane, this.port, this.#settings);
    this.#child = child;
    const life = { isUp: false };
    /** What it works for just now; first the run that it is killed for. Whoever kills it by hand names none. */
    let works: readonly string[] = [];
    child.on("message", (message: FromLane) => {
      if (message.kind === "note") this.#log.note(message.note);
      if (message.kind === "begun") works = [...works, message.run];
      if (message.kind === "ended") works = works.toSpliced(works.indexOf(message.run), 1);
      if (message.kind !== "at") return;
      works = works.toSorted((one, other) => Number(other === message.run) - Number(one === message.run));
      this.#stands(child, message);
    });
    child.once("exit", (code, signal) => {
      if (this.#stopping) return;
      const ended = [...new Set(works)];
      this.#note(child, ended, { what: "exit", ...(signal === null ? { detail: `code ${code}` } : { signal }) });
      this.restarts += 1;
      // One that does not even start is not started in a tight loop.
      this.#up = sleep(life.isUp ? 0 : RESTART_MS).then(() => (this.#stopping ? undefined : this.#launch(ended)));
      this.#up.catch(() => undefined);
    });
    ({ port: this.port } = await heard(child, "ready"));
    life.isUp = true;
    const tookMs = Math.round(performance.now() - beganMs);
    if (this.restarts > 0) this.lastRestartMs = tookMs;
    this.#note(child, struck, { what: "start", tookMs });
  }

  #stands(child: ChildProcess, { point, run, stand }: Extract<FromLane, { kind: "at" }>): void {
    const meanwhile = this.#meanwhile;
    if (meanwhile === undefined) {
      this.#note(child, [run], { what: "kill", signal: "SIGKILL", detail: point });
      child.kill("SIGKILL");
      return;
    }
    let isGoing = false;
    const goOn = (): void => {
      if (!isGoing) say(child, { kind: "go-on", stand });
      isGoing = true;
    };
    meanwhile(run, goOn)
      .catch((error: unknown) => this.#note(child, [run], { what: "failed", detail: String(error) }))
      .finally(goOn);
  }

  async #order(message: ToLane): Promise<void> {
    await this.#up;
    const child = this.#child;
    if (child === undefined) return;
    const armed = heard(child, "armed");
    say(child, message);
    await armed;
  }
}

/** One that has just been killed does not hear it; whoever waits for its answer sees its end. */
function say(child: ChildProcess, message: ToLane): void {
  if (child.connected) child.send(message, () => undefined);
}

function forkLane(lane: LaneName, port: number, { folder, bankUrl, variables }: LaneSettings): ChildProcess {
  return fork(fileURLToPath(new URL(`lane/${lane}.ts`, import.meta.url)), [], {
    env: { ...process.env, LANE_DATA: folder, LANE_PORT: String(port), LANE_BANK_URL: bankUrl, ...variables },
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
}

/** The next message of this kind. Rejects where the lane ends before it says so, or says nothing for too long. */
function heard<Kind extends FromLane["kind"]>(
  child: ChildProcess,
  kind: Kind,
): Promise<Extract<FromLane, { kind: Kind }>> {
  return new Promise((resolve, reject) => {
    const hear = (message: FromLane): void => {
      if (message.kind !== kind) return;
      done();
      resolve(message as Extract<FromLane, { kind: Kind }>);
    };
    const fail = (code: number | null, signal: NodeJS.Signals | null): void => {
      done();
      reject(new StartError(`the lane ended (${signal ?? `exit code ${code}`}) before it was ${kind}`));
    };
    const limit = setTimeout(() => fail(null, null), START_MS);
    const done = (): void => {
      clearTimeout(limit);
      child.off("message", hear).off("exit", fail);
    };
    child.on("message", hear).once("exit", fail);
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  if (child.connected) child.disconnect();
  const limit = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await exited;
  clearTimeout(limit);
}
