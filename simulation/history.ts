/** One seed, one history: the plan is played, the faults end, and what is left must come to rest. */
import { settle } from "../packages/ichido/src/core/engine/settlement.ts";
import { isFinal, problemIn } from "./answers.ts";
import { createFleet, type Fleet } from "./fleet.ts";
import { person } from "./judgement.ts";
import { running, type Machine } from "./machine.ts";
import { operate, rightDecision, type Wish } from "./operator.ts";
import { planOf, type Item, type Plan } from "./plan.ts";
import { createProvider, type Provider } from "./provider.ts";
import { mixed } from "./random.ts";
import { drive, driveByTurns, type Events } from "./scheduler.ts";
import { createShopper, uuidOf, type Shopper } from "./shopper.ts";
import type { WebRequest, WebResponse } from "./service.ts";
import { linkStore } from "./store-link.ts";
import { createStoreServer, type StoreServer } from "./store-server.ts";
import { send } from "./web.ts";
import { isOpen, isSealed, nothingOmitted, World, type Omissions, type Seen, type Violation } from "./world.ts";

export interface History {
  readonly seed: number;
  readonly plan: Plan;
  readonly violation: Violation | undefined;
  readonly hash: string;
  readonly lines: readonly string[];
  readonly fates: readonly string[];
  readonly counts: World["counts"] & { readonly events: number; readonly processes: number };
}

const eventsMax = 30_000;
/** How often somebody patient asks or tries again: longer, all in all, than a lease can last for a clock that went back. */
const triesMax = 60;
const pauseMsOf = ({ leaseMs }: Plan): number => Math.max(1_000, leaseMs);

interface Stage {
  readonly world: World;
  readonly far: StoreServer;
  readonly provider: Provider;
  readonly fleet: Fleet;
  readonly shoppers: readonly Shopper[];
  /** Every key that was asked for, with what was asked. */
  readonly asked: Map<string, WebRequest>;
}

export function requestOf(world: World, item: Extract<Item, { kind: "ask" }>): WebRequest {
  const route = world.plan.routes[item.route] ?? world.plan.routes[0];
  if (route === undefined) throw new Error("a plan has a route");
  const key = uuidOf(world.plan.seed, item.key);
  const intent = `ask${item.route}.${item.key}.${item.principal}.${item.content}`;
  const number = world.nextRequest();
  // The same content, spelled in one of two ways.
  const isTurned = route.next?.prints !== "bytes" && mixed(world.plan.seed, number, 9) % 4 === 0;
  // Callers may say the same under the same key, and are still not one.
  const cart = `cart${item.route}.${item.key}.${item.content}`;
  const content = JSON.stringify(isTurned ? { amount: 100, cart } : { cart, amount: 100 });
  return {
    number,
    route,
    key,
    header: key,
    principal: `caller${item.principal}`,
    intent,
    content,
    slot: item.server,
  };
}

function meddle({ world, far, provider }: Stage, plan: { readonly thinksMs: number; readonly wish: Wish }): void {
  const machine = world.newMachine("operator", { drifts: false });
  machine.deliver("reply", () => {
    operate(world, machine, linkStore(world, machine, far).store, provider, plan).catch(() => undefined);
  });
}

function play(stage: Stage, item: Item): void {
  const { world, fleet } = stage;
  const faulty = item.kind !== "ask" && item.kind !== "press";
  if (faulty) world.counts.faults += 1;
  switch (item.kind) {
    case "ask": {
      const caller = world.newMachine("caller", { drifts: false });
      const request = requestOf(world, item);
      // In the end it is asked for anywhere.
      stage.asked.set(request.intent, { ...request, slot: undefined });
      send(world, fleet, caller, request).catch(() => undefined);
      return;
    }
    case "press":
      return stage.shoppers[item.person]?.press();
    case "reload":
      return stage.shoppers[item.person]?.reload();
    case "tab":
      return stage.shoppers[item.person]?.pressElsewhere();
    case "edit":
      return stage.shoppers[item.person]?.edit();
    case "full":
      return stage.shoppers[item.person]?.fillUp(item.forMs);
    case "kill":
      return fleet.kill(item.server, item.awayMs);
    case "close":
      return fleet.close(item.server, item.awayMs);
    case "freeze": {
      const machine = fleet.at(item.server)?.machine;
      if (machine !== undefined) world.freeze(machine, item.forMs, item.first);
      return;
    }
    case "outage": {
      const machine = item.server === undefined ? undefined : fleet.at(item.server)?.machine;
      world.note(
        `the store is away for ${machine?.name ?? "all"} (${item.refuses ? "refuses" : "silent"}), ${item.forMs.toFixed(0)} ms`,
      );
      world.outages.push({ fromMs: world.nowMs, toMs: world.nowMs + item.forMs, machine, refuses: item.refuses });
      for (const each of machine === undefined ? world.machines : [machine]) each.isUntroubled = false;
      return;
    }
    case "jump":
      world.note(`the store's clock jumps by ${item.byMs.toFixed(0)} ms`);
      return world.jumpStore(item.byMs);
    case "forget":
      world.forgetsForMs = item.standsMs;
      return;
    case "operator":
      return meddle(stage, item);
    case "blind":
      world.note(`the provider cannot be asked for ${item.forMs.toFixed(0)} ms`);
      world.blindUntilMs = world.nowMs + item.forMs;
  }
}

function heal({ world, fleet }: Stage): void {
  world.note("the faults are over");
  world.isQuiet = true;
  world.outages = [];
  world.blindUntilMs = 0;
  for (const machine of world.machines) machine.wake("reply");
  fleet.restore();
}

/** An answer that a living process has made is stored as soon as the store can be had, unless somebody overtook it. */
function judgeKept({ world }: Stage): void {
  for (const { id, kept, fence, machine, startedMs, endedMs = world.nowMs } of world.runs) {
    const record = world.seen.get(id)?.record;
    const isOverdue = world.nowMs - startedMs >= world.plan.executionMs;
    const isOnItsWay = world.nowMs - endedMs < world.plan.leaseMs;
    if (kept === undefined || !machine.isAlive || fence === -1 || isOverdue || isOnItsWay) continue;
    if (isOpen(record) && record.fence === fence) {
      world.violate(
        "answer-dropped",
        `${id}: ${machine.name} made an answer that nobody overtook, and it was not stored`,
      );
    }
  }
}

/** After an outage this long, what was to be given back is still tried again. */
const giveBackMs = 25_000;

/** Nothing ran under the key, and whoever was told so gives it back: it does not end as a doubt. */
function leftBehind({ world }: Stage): Seen | undefined {
  return [...world.seen.values()].find(({ record, granted, begun }) => {
    if (!isOpen(record) || record.leaseLeftMs === 0 || begun.has(record.fence)) return false;
    const grant = granted.get(record.fence);
    if (grant === undefined || world.unprotected.has(grant.ask)) return false;
    return grant.machine.isAlive && grant.atMs > world.plan.spanMs - giveBackMs;
  });
}

/** Each try comes after twice the time of the one before. */
function* givenBack(stage: Stage): Events<boolean> {
  const { world } = stage;
  for (let slice = 0; slice < 120 && leftBehind(stage) !== undefined; slice += 1) {
    if (!(yield* world.scheduler.runUntil(world.nowMs + 1_000, eventsMax))) return false;
  }
  const left = leftBehind(stage);
  if (left !== undefined) world.violate("left-behind", `${left.id}: nothing ran, and its key was not given back`);
  return true;
}

type Rest = "answered" | "held" | "stuck";

/** Asks again, as a patient caller would, until there is an answer or a person is needed. */
async function probe(stage: Stage, machine: Machine, request: WebRequest): Promise<Rest> {
  const { world, fleet } = stage;
  const pauseMs = pauseMsOf(world.plan);
  const seen = world.seenOf({
    key: request.key as never,
    principal: request.principal,
    operation: request.route.operation,
  });
  for (let tries = 0; tries < triesMax; tries += 1) {
    const heard = await send(world, fleet, machine, { ...request, number: world.nextRequest() }).catch(() => undefined);
    if (heard !== undefined && heard.by !== "gateway" && isRest(heard)) return "answered";
    if (heard !== undefined && needsPerson(request, seen)) return "held";
    await new Promise<void>((resolve) => machine.after(pauseMs, resolve));
  }
  return "stuck";
}

function isRest(heard: WebResponse): boolean {
  return isFinal(heard) || heard.by === "unprotected" || problemIn(heard)?.code === "idempotency-key-reused";
}

function needsPerson({ route }: WebRequest, { record }: Seen): boolean {
  if (isSealed(record)) return true;
  return route.onUnknown === "hold" && isOpen(record) && (record.leaseLeftMs ?? 0) <= 0;
}

async function rest(stage: Stage, request: WebRequest): Promise<void> {
  const { world, far, provider } = stage;
  const machine = world.newMachine("prober", { drifts: false });
  running.machine = machine;
  let came = await probe(stage, machine, request);
  if (came === "held") {
    const seen = world.seenOf({
      key: request.key as never,
      principal: request.principal,
      operation: request.route.operation,
    });
    const { store } = linkStore(world, machine, far);
    for (let tries = 0; tries < triesMax && came === "held"; tries += 1) {
      await new Promise<void>((resolve) => machine.after(pauseMsOf(world.plan), resolve));
      const record = seen.record === undefined ? undefined : await store.find(seen.record.identity);
      if (record === undefined || record.state === "completed") break;
      const decision = rightDecision(world, provider, record);
      if (decision === undefined) continue;
      const { identity, fence } = record;
      const result = await settle(store, { record: identity, decision, actor: person, reason: "at the end", fence });
      world.note(`the person settles ${seen.id} by ${decision.kind}: ${result}`);
      if (result === "ok" || result === "completed") break;
    }
    came = await probe(stage, machine, request);
  }
  if (came !== "answered")
    world.violate(came === "held" ? "held-again" : "stuck", `${request.intent}: no answer after the faults were over`);
}

/** False: there was too much to do, or it did not come to rest in time. */
function* atRest(stage: Stage, fail: (error: unknown) => void): Events<boolean> {
  const { scheduler, plan } = stage.world;
  let left = stage.asked.size;
  for (const request of stage.asked.values()) {
    rest(stage, request)
      .finally(() => {
        left -= 1;
      })
      .catch(fail);
    yield;
  }
  const sliceMs = pauseMsOf(plan);
  for (let slice = 0; slice < 400 && left > 0 && !scheduler.isStopped; slice += 1) {
    if (!(yield* scheduler.runUntil(scheduler.nowMs + sliceMs, eventsMax))) return false;
  }
  return left === 0 || scheduler.isStopped;
}

function* played(world: World, fail: (error: unknown) => void): Events<void> {
  const { scheduler, plan, omitted } = world;
  const far = createStoreServer(world);
  const provider = createProvider(world);
  const fleet = createFleet(world, far, provider);
  const shoppers = plan.persons.map((_, number) => createShopper(world, fleet, number));
  const stage: Stage = { world, far, provider, fleet, shoppers, asked: new Map() };
  world.onMeddling = (wish) => meddle(stage, { thinksMs: 0, wish });
  yield;
  plan.items.forEach((item, index) => {
    if (!omitted.items.has(index)) scheduler.at(item.atMs, () => play(stage, item));
  });
  let isWhole = yield* scheduler.runUntil(plan.spanMs, eventsMax);
  if (isWhole && !scheduler.isStopped) {
    heal(stage);
    yield;
    isWhole = yield* scheduler.runUntil(plan.spanMs + plan.leaseMs * 4 + 10_000, eventsMax);
    if (!scheduler.isStopped) judgeKept(stage);
    isWhole &&= yield* givenBack(stage);
    isWhole &&= yield* atRest(stage, fail);
  }
  if (!isWhole) world.violate("runaway", `more than ${eventsMax} events`);
}

function historyOf(world: World): History {
  const { plan, trace, scheduler } = world;
  const processes = world.machines.filter(({ name }) => name.startsWith("s")).length;
  return {
    seed: plan.seed,
    plan,
    violation: world.violations[0],
    hash: trace.hash,
    lines: trace.lines,
    fates: world.fates,
    counts: { ...world.counts, events: scheduler.events, processes },
  };
}

function stageOf(
  seed: number,
  omitted: Omissions,
  keepsTrace: boolean,
): { world: World; fail: (error: unknown) => void } {
  const world = new World(planOf(seed), omitted, keepsTrace);
  return {
    world,
    fail: (error) => world.violate("crashed", String(error instanceof Error ? (error.stack ?? error) : error)),
  };
}

export function runHistory(seed: number, omitted: Omissions = nothingOmitted, keepsTrace = false): History {
  const { world, fail } = stageOf(seed, omitted, keepsTrace);
  process.on("unhandledRejection", fail);
  try {
    drive(played(world, fail));
  } catch (error) {
    fail(error);
  } finally {
    process.off("unhandledRejection", fail);
  }
  return historyOf(world);
}

/** The same history, with the microtasks of each event drained by the real event loop. */
export async function runHistoryByTurns(seed: number): Promise<History> {
  const { world, fail } = stageOf(seed, nothingOmitted, false);
  await driveByTurns(played(world, fail));
  return historyOf(world);
}
