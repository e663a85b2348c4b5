/** One seed, one history of transactions: the plan is played, the faults end, and every key must come to its answer. */
import type { Machine } from "../machine.ts";
import { mixed } from "../random.ts";
import { drive, driveByTurns, type Events } from "../scheduler.ts";
import { nothingOmitted, type Omissions, type Violation } from "../world.ts";
import { createJudge, type Judge } from "./judge.ts";
import { transactionsPlanOf, type Item, type RoutePlan, type TransactionsPlan } from "./plan.ts";
import { createDatabaseServer, type DatabaseServer } from "./server.ts";
import { createService, type Service, type WebResponse } from "./service.ts";
import { TransactionsWorld, type Content } from "./world.ts";

export interface TransactionsHistory {
  readonly seed: number;
  readonly plan: TransactionsPlan;
  readonly violation: Violation | undefined;
  readonly hash: string;
  readonly lines: readonly string[];
  readonly fates: readonly string[];
  readonly counts: TransactionsWorld["counts"] & { readonly events: number; readonly processes: number };
}

interface Place {
  machine: Machine | undefined;
  service: Service | undefined;
}

interface Stage {
  readonly world: TransactionsWorld;
  readonly server: DatabaseServer;
  readonly judge: Judge;
  readonly places: readonly Place[];
  /** Who waits for an answer, and of whom. */
  readonly asking: Map<object, { readonly key: string; readonly machine: Machine }>;
}

const eventsMax = 100_000;

function launch({ world, server, judge }: Stage, place: Place): void {
  const { plan } = world;
  const machine = world.newMachine("p");
  const isFormer = world.nowMs < plan.deployedMs && mixed(plan.seed, machine.number, 51) % 2 === 0;
  place.machine = machine;
  machine.deliver("reply", () => {
    place.service = createService(world, machine, server, judge, isFormer);
  });
}

function away(stage: Stage, place: Place, awayMs: number): void {
  place.machine = undefined;
  place.service = undefined;
  stage.world.scheduler.after(awayMs, () => {
    if (place.machine === undefined) launch(stage, place);
  });
}

/** Whatever died takes its connections with it, as soon as the database sees it. */
function watchDeaths(stage: Stage): void {
  const { world, server, places } = stage;
  world.onKilled = (machine) => {
    const seenMs = mixed(world.plan.seed, machine.number, 21) % 2_000;
    world.scheduler.after(seenMs, () => server.closeAll((connection) => connection.machine === machine));
    const place = places.find((each) => each.machine === machine);
    if (place !== undefined) away(stage, place, 100 + (mixed(world.plan.seed, machine.number, 22) % 2_000));
  };
}

/** Answers of the operation itself are held against the record. */
function told({ world, judge }: Stage, { key }: RoutePlan, content: Content, response: WebResponse): void {
  world.counts.answers += 1;
  world.note(`answer for ${key}: ${response.status} by ${response.by}`);
  const isStored = !response.headers.some(([name]) => name === "idempotency-stored");
  const isFinal = response.status === 201 || response.status === 402;
  if (isFinal && isStored) judge.told(key, response.text, content);
  if (response.status === 422) judge.refused(key, content);
}

interface Asking {
  readonly start: number;
  readonly tries: number;
  readonly content?: Content | undefined;
}

function ask(stage: Stage, route: RoutePlan, { start, tries, content = "usual" }: Asking): void {
  const { world, places, judge, asking } = stage;
  const living = places.filter(({ service }) => service !== undefined);
  const { machine, service } = living[start % Math.max(1, living.length)] ?? {};
  if (machine === undefined || service === undefined) return;
  const asked = {};
  asking.set(asked, { key: route.key, machine });
  world.asked.set(route.key, (world.asked.get(route.key) ?? new Set()).add(content));
  machine.deliver("reply", () => {
    service.serve(route, content).then(
      (response) => {
        asking.delete(asked);
        told(stage, route, content, response);
        if (tries <= 1 || judge.answerOf(route.key) !== undefined) return;
        world.scheduler.after(200, () => ask(stage, route, { start: start + 1, tries: tries - 1, content }));
      },
      (error: unknown) => world.violate("crashed", String(error)),
    );
  });
}

function stop(stage: Stage, place: Place, awayMs: number): void {
  const { world, server } = stage;
  const { machine, service } = place;
  if (machine === undefined || service === undefined) return;
  world.note(`${machine.name} is told to close`);
  machine.deliver("reply", () => {
    void service.close().then(() => {
      if (place.machine !== machine) return;
      machine.kill();
      server.closeAll((connection) => connection.machine === machine);
      away(stage, place, awayMs);
    });
  });
}

function play(stage: Stage, item: Item): void {
  const { world, server, places } = stage;
  if (item.kind !== "ask") world.counts.faults += 1;
  switch (item.kind) {
    case "ask": {
      const route = world.plan.routes[item.key];
      if (route !== undefined) ask(stage, route, { start: item.place, tries: item.tries, content: item.content });
      return;
    }
    case "kill": {
      const machine = places[item.place]?.machine;
      if (machine !== undefined) world.kill(machine);
      return;
    }
    case "stop": {
      const place = places[item.place];
      if (place !== undefined) stop(stage, place, item.awayMs);
      return;
    }
    case "freeze": {
      const machine = places[item.place]?.machine;
      if (machine !== undefined) world.freeze(machine, item.forMs, item.first);
      return;
    }
    case "away":
      world.note(`the database is away for ${item.forMs.toFixed(0)} ms`);
      world.awayUntilMs = world.nowMs + item.forMs;
      return server.closeAll(() => true);
    case "lock":
      world.note("somebody keeps the stock locked");
      return server.lock("stock");
  }
}

function heal(stage: Stage): void {
  const { world, places } = stage;
  world.note("the faults are over");
  world.isQuiet = true;
  world.awayUntilMs = 0;
  for (const machine of world.machines) machine.wake("reply");
  for (const place of places) if (place.machine === undefined) launch(stage, place);
}

const roundMs = 3_000;
const roundsMax = 20;

/** What nobody has brought to its end. */
function left(stage: Stage): { readonly invariant: string; readonly detail: string } | undefined {
  const { world, server, judge, places, asking } = stage;
  const open = world.plan.routes.find(({ key }) => judge.answerOf(key) === undefined);
  if (open !== undefined) return { invariant: "stuck", detail: `${open.key} has no answer` };
  const waiting = [...asking.values()].find(({ machine }) => machine.isAlive);
  if (waiting !== undefined) return { invariant: "unanswered", detail: `${waiting.machine.name} about ${waiting.key}` };
  const lent = places.reduce((sum, { service }) => sum + (service?.lent ?? 0), 0);
  if (lent > 0) return { invariant: "leaked", detail: `${lent} connections were never given back` };
  const { openTransactions } = server;
  return openTransactions === 0
    ? undefined
    : { invariant: "left-open", detail: `${openTransactions} transactions are open in the end` };
}

/** Each content in turn: whichever has the key alone comes to an answer. */
function askForRest(stage: Stage, route: RoutePlan, round: number): void {
  const contents = [...(stage.world.asked.get(route.key) ?? ["usual" as const])];
  const content = contents[round % contents.length];
  ask(stage, route, { start: Math.floor(round / contents.length), tries: 1, content });
}

function* atRest(stage: Stage): Events<boolean> {
  const { world, judge, places } = stage;
  const { scheduler, plan } = world;
  for (let round = 0; round < roundsMax && !scheduler.isStopped; round += 1) {
    for (const route of plan.routes) if (judge.answerOf(route.key) === undefined) askForRest(stage, route, round);
    yield;
    if (!(yield* scheduler.runUntil(scheduler.nowMs + roundMs, eventsMax))) return false;
    if (left(stage) === undefined) break;
  }
  if (scheduler.isStopped) return true;
  // Once more from everybody: the answer that was given stays the answer.
  for (const route of plan.routes) places.forEach((_, place) => ask(stage, route, { start: place, tries: 1 }));
  yield;
  if (!(yield* scheduler.runUntil(scheduler.nowMs + roundMs, eventsMax))) return false;
  const found = left(stage);
  if (found !== undefined && !scheduler.isStopped) world.violate(found.invariant, found.detail);
  return true;
}

function* played(world: TransactionsWorld): Events<void> {
  const { scheduler, plan, omitted } = world;
  const judge = createJudge(world);
  const server = createDatabaseServer(world, judge);
  const places: Place[] = Array.from({ length: plan.places }, () => ({ machine: undefined, service: undefined }));
  const stage: Stage = { world, server, judge, places, asking: new Map() };
  watchDeaths(stage);
  for (const place of places) launch(stage, place);
  yield;
  plan.items.forEach((item, index) => {
    if (!omitted.items.has(index)) scheduler.at(item.atMs, () => play(stage, item));
  });
  let isWhole = yield* scheduler.runUntil(plan.spanMs, eventsMax);
  if (isWhole && !scheduler.isStopped) {
    heal(stage);
    yield;
    isWhole = yield* atRest(stage);
  }
  if (!isWhole) world.violate("runaway", `more than ${eventsMax} events`);
}

function historyOf(world: TransactionsWorld): TransactionsHistory {
  const { plan, trace, scheduler } = world;
  return {
    seed: plan.seed,
    plan,
    violation: world.violations[0],
    hash: trace.hash,
    lines: trace.lines,
    fates: world.fates,
    counts: { ...world.counts, events: scheduler.events, processes: world.machines.length },
  };
}

export function runTransactionsHistory(
  seed: number,
  omitted: Omissions = nothingOmitted,
  keepsTrace = false,
): TransactionsHistory {
  const world = new TransactionsWorld(transactionsPlanOf(seed), omitted, keepsTrace);
  const fail = (error: unknown): void =>
    world.violate("crashed", String(error instanceof Error ? (error.stack ?? error) : error));
  process.on("unhandledRejection", fail);
  try {
    drive(played(world));
  } catch (error) {
    fail(error);
  } finally {
    process.off("unhandledRejection", fail);
  }
  return historyOf(world);
}

export async function runTransactionsHistoryByTurns(seed: number): Promise<TransactionsHistory> {
  const world = new TransactionsWorld(transactionsPlanOf(seed), nothingOmitted, false);
  await driveByTurns(played(world));
  return historyOf(world);
}
