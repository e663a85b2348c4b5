/** What a run takes place on: a store, a fleet of servers, callers, a desk and two banks. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom, type Random } from "../simulation/random.ts";
import { startBackend, type Backend } from "./backends/backend.ts";
import { Banks } from "./banks.ts";
import { Callers } from "./callers.ts";
import { Desk } from "./desk.ts";
import { kindsOf, storm } from "./faults/storm.ts";
import { Fleet } from "./fleet.ts";
import { History } from "./history.ts";
import { judge } from "./judgement.ts";
import { programIn, type Source } from "./programs.ts";
import { settleAll } from "./settling.ts";
import { leaseMs, slackMsDefault } from "./settings.ts";
import type { Setup, StoreName } from "./setup.ts";
import { Tally } from "./tally.ts";
import type { Told } from "./told.ts";

export type Control = "none" | "naive" | "no-fence";

export interface StageOptions {
  readonly store: StoreName;
  readonly seed: number;
  readonly control: Control;
  readonly servers?: number;
  /** Servers among them that are never killed. */
  readonly veterans?: number;
  readonly callers?: number;
  /** Kinds of faults, by name; absent: all that the store can suffer. */
  readonly only?: readonly string[];
  /** How many times as long as usual it is from one fault of a kind to the next. */
  readonly pace?: number;
  /** How long a caller rests between two operations, at most. */
  readonly restMs?: number;
  /** What is allowed for a slow machine, where a call's absence is taken for proof. */
  readonly slackMs?: number;
  /** Absent: records outlive the run. */
  readonly retentionMs?: number;
}

const readySeconds = 120;

async function sourceOf(control: Control): Promise<Source> {
  if (control === "no-fence") return (await import("./no-fence.ts")).withoutFence();
  return { root: join(import.meta.dirname, ".."), remove: () => {} };
}

export class Stage {
  readonly history: History;
  readonly tally = new Tally();
  /** What must have struck. */
  readonly kinds: readonly string[];
  readonly backend: Backend;
  readonly fleet: Fleet;
  readonly desk: Desk;
  readonly banks: Banks;
  readonly #options: StageOptions;
  readonly #random: Random;
  readonly #callers: Callers;
  readonly #source: Source;

  private constructor(
    options: StageOptions,
    parts: Pick<Stage, "tally" | "backend" | "fleet" | "desk" | "banks"> & {
      readonly random: Random;
      readonly source: Source;
    },
  ) {
    this.#options = options;
    this.#random = parts.random;
    this.#source = parts.source;
    ({ tally: this.tally, backend: this.backend, fleet: this.fleet, desk: this.desk, banks: this.banks } = parts);
    const { only, store, restMs = 0 } = options;
    this.history = new History(this.backend.isForgetful);
    this.kinds = kindsOf({ backend: this.backend, only });
    this.#callers = new Callers({
      fleet: this.fleet,
      history: this.history,
      tally: this.tally,
      random: parts.random,
      policies: this.backend.policies,
      insideMsMax: store === "sqlite" ? 0 : 100,
      mishaps: (["answer-lost", "caller-gone"] as const).filter((mishap) => only?.includes(mishap) ?? true),
      restMs,
      // Without the fence it takes an owner that stands still inside of its handler.
      dawdleMs: options.control === "no-fence" ? leaseMs : 300,
    });
  }

  static async open(options: StageOptions): Promise<Stage> {
    const { store, seed, control, only, servers = 5, veterans = 0, slackMs = slackMsDefault, retentionMs } = options;
    const random = createRandom(seed);
    const tally = new Tally();
    const source = await sourceOf(control);
    const banks = await Banks.open();
    let order: (line: string) => void = () => {};
    const backend = await startBackend(
      store,
      (line) => order(line),
      () => tally.noRoom,
    );
    const setup: Omit<Setup, "url" | "wire"> = {
      store,
      banks: { honest: banks.honest.url, deaf: banks.deaf.url },
      naive: control === "naive",
      slackMs,
      ...(retentionMs === undefined ? {} : { retentionMs }),
    };
    const told: Setup = { ...setup, url: backend.url, wire: "http1" };
    const desk = await Desk.open(await programIn(source, "desk.child.ts"), told, tally);
    const fleet = await Fleet.launch({
      program: await programIn(source, "server.child.ts"),
      setup,
      url: backend.url,
      isProxied: backend.line !== undefined,
      servers,
      veterans,
      tally,
      random,
      isCalm: only?.includes("kill-at-point") === false,
    });
    order = (line) => {
      fleet.order(line);
      desk.order(line);
    };
    const stage = new Stage(options, { tally, backend, fleet, desk, banks, random, source });
    while (fleet.ready.length < servers && tally.seconds < readySeconds) await sleep(20);
    return stage;
  }

  /** Callers ask and things go wrong, until it is over; `except`: kinds that do not strike this time. */
  async storm(isOver: () => boolean, except: readonly string[] = []): Promise<void> {
    const { only, pace = 1, callers = 40 } = this.#options;
    const { fleet, backend, banks, tally } = this;
    const { orders } = this.#callers;
    fleet.alarm();
    this.history.isCalm = false;
    const kinds = except.length === 0 ? only : this.kinds.filter((kind) => !except.includes(kind));
    await Promise.all([
      storm({ fleet, backend, banks, random: this.#random, only: kinds, pace, orders }, tally, isOver),
      ...Array.from({ length: callers }, () => this.#callers.run(isOver)),
    ]);
    fleet.calm();
  }

  /** Tells how long it took until every key had its answer. */
  settle(): Promise<number> {
    this.history.isCalm = true;
    return settleAll(this.history, this.#callers);
  }

  async judge(): Promise<Told> {
    const told = await this.desk.tell();
    const charges = this.banks.charges();
    judge(this.history, { told, charges }, { hasRecords: this.#options.control !== "naive" });
    return told;
  }

  async close(): Promise<void> {
    await this.fleet.stop();
    await this.desk.stop();
    await this.backend.stop();
    await this.banks.close();
    this.#source.remove();
  }
}
