/** One seed, one history of events: the plan is played, the faults end, people decide about what is left, and all must be done. */
import { CommitFailed } from "../../packages/ichido/src/core/contract/transaction.ts";
import type { Machine } from "../machine.ts";
import { drive, driveByTurns, type Events } from "../scheduler.ts";
import { mixed } from "../random.ts";
import { nothingOmitted, type Omissions, type Violation } from "../world.ts";
import { Broker } from "./broker.ts";
import { runStatement } from "./database.ts";
import { createFleet, type Fleet } from "./fleet.ts";
import { handlerNames, leasedName } from "./handlers.ts";
import { Ledger } from "./ledger.ts";
import { eventsPlanOf, type EventsItem, type EventsPlan } from "./plan.ts";
import { Provider } from "./provider.ts";
import { createDatabaseServer, type DatabaseServer } from "./server.ts";
import { unhandledName, unreadableName } from "./strangers.ts";
import { EventsWorld } from "./world.ts";

export interface EventsHistory {
  readonly seed: number;
  readonly plan: EventsPlan;
  readonly violation: Violation | undefined;
  readonly hash: string;
  readonly lines: readonly string[];
  readonly fates: readonly string[];
  readonly counts: EventsWorld["counts"] & { readonly events: number; readonly processes: number };
}

interface Stage {
  readonly world: EventsWorld;
  readonly server: DatabaseServer;
  readonly ledger: Ledger;
  readonly broker: Broker;
  readonly fleet: Fleet;
  readonly provider: Provider;
}

const eventsMax = 200_000;
const by = { actor: "a person", reason: "looked at it" };

const copyMsMax = 100;

/** Not so late that it is refused for its age. */
function copySoon({ world, ledger, broker }: Stage, id: string, delayMs: number): void {
  const { copies, retentionMs } = world.plan;
  const addedMs = ledger.events.find((each) => each.id === id)?.atMs ?? Number.NEGATIVE_INFINITY;
  if (copies && world.nowMs - addedMs < retentionMs * 0.9) world.scheduler.after(delayMs, () => broker.copy(id));
}

/** As a person would: looks whether a forgotten one, or a call to the outside, took effect, and otherwise trusts the letter. */
function decide(stage: Stage, which: number, discards: boolean): void {
  const { world, ledger, fleet, provider } = stage;
  const { outbox, inbox, machine } = fleet.desk;
  // Nobody can call back what is on its way to the outside.
  const own = ledger.letters.filter(({ state, handler }) => state === "dead" || (discards && handler !== leasedName));
  const all = own.length + ledger.relays.letters.length;
  if (all === 0) return;
  const place = which % all;
  const letter = own[place];
  if (letter !== undefined) {
    const { handler, id, reason } = letter;
    const looks = reason === "too-old" || reason === "conflict" || handler === leasedName;
    const isDone = looks && ledger.effectsOf(handler, id) > 0;
    const isDealtWith = handler === unreadableName || (handler === unhandledName && ledger.strangers.given.has(id));
    // What was let go before, and came again after it was forgotten, is let go again.
    const drops = discards || isDone || isDealtWith || ledger.isDiscarded(handler, id);
    // It would take effect after it was let go: whoever looks again later sees it.
    if (drops && handler === leasedName && provider.isTravelling(id)) return;
    world.note(`a person ${drops ? "discards" : "replays"} ${handler} of ${id}`);
    machine.deliver("reply", () => {
      const decision = { handler, id, ...by };
      const replay = handler === unhandledName ? { ...decision, to: handlerNames(world) } : decision;
      const decided = drops ? inbox.dead.discard(decision) : inbox.dead.replay(replay);
      decided.catch(() => undefined);
    });
    if (!drops) copySoon(stage, id, which % copyMsMax);
    return;
  }
  const given = ledger.relays.letters[place - own.length];
  if (given === undefined) return;
  const { seq, id } = given;
  world.note(`a person ${discards ? "discards" : "replays"} the relay's ${id}`);
  machine.deliver("reply", () => {
    const decided = discards ? outbox.dead.discard({ seq, ...by }) : outbox.dead.replay({ seq, ...by });
    decided.catch(() => undefined);
  });
}

/** As a caller does that is told for sure that nothing was written. */
const addsMax = 8;
const addAgainMs = 300;

function add(stage: Stage, index: number, item: Extract<EventsItem, { kind: "add" }>, tries = 1): void {
  const { world, fleet } = stage;
  const { outbox, machine } = fleet.desk;
  machine.deliver("reply", () => {
    const ids = Array.from({ length: item.events }, (_, each) => `e${index}.${each}`);
    const done = outbox.transaction(async (_tx, handle) => {
      for (const id of ids) {
        await outbox.add(handle, { id, topic: "order.paid", key: `k${item.key}`, payload: { id } });
      }
    });
    done.catch((error: unknown) => {
      world.note(`adding ${ids.join(", ")} failed`);
      if (error instanceof CommitFailed || tries >= addsMax || world.isQuiet) return;
      machine.after(addAgainMs, () => add(stage, index, item, tries + 1));
    });
  });
}

function play(stage: Stage, item: EventsItem, index: number): void {
  const { world, server, broker, fleet } = stage;
  if (!["add", "decide", "strike", "stall", "stranger", "pause"].includes(item.kind)) world.counts.faults += 1;
  switch (item.kind) {
    case "add":
      return add(stage, index, item);
    case "kill":
      return fleet.kill(item.place, item.awayMs);
    case "stop":
      return fleet.stop(item.place, item.awayMs, item.drainMs);
    case "freeze": {
      const machine = fleet.places[item.place]?.machine;
      if (machine !== undefined) world.freeze(machine, item.forMs, item.first);
      return;
    }
    case "database-away":
      world.note(`the database is away for ${item.forMs.toFixed(0)} ms`);
      world.databaseAwayUntilMs = world.nowMs + item.forMs;
      for (const machine of world.machines) world.strike(machine, world.databaseAwayUntilMs);
      return server.closeAll(() => true);
    case "cut-off": {
      const machine = fleet.places[item.place]?.machine;
      if (machine !== undefined) world.cutOff(machine, item.forMs);
      return;
    }
    case "broker-away":
      world.note(`the broker is away for ${item.forMs.toFixed(0)} ms`);
      world.brokerAwayUntilMs = world.nowMs + item.forMs;
      world.scheduler.after(item.forMs, () => broker.wake());
      return;
    case "deliver-again":
      return broker.again(item.which);
    case "strike":
    case "stall":
      return;
    case "decide":
      return decide(stage, item.which, item.discards);
    case "stranger":
      return broker.bring(item.as, item.which, handlerNames(world));
    case "pause":
      pause(stage, item.of, "pause");
      return void world.scheduler.after(item.forMs, () => pause(stage, item.of, "resume"));
    case "jump":
      return world.jump(item.byMs);
  }
}

/** Faults that wait for a commit instead of for a time. */
function strikeAtCommits(stage: Stage): void {
  const { world } = stage;
  const seen = { all: 0, replays: 0, letters: 0 };
  const strike = (machine: Machine, of: keyof typeof seen): void => {
    const now = seen[of];
    seen[of] += 1;
    world.plan.items.forEach((item, index) => {
      if (item.kind !== "strike" || item.of !== of || item.which !== now || world.omitted.items.has(index)) return;
      world.counts.faults += 1;
      if (item.cutMs > 0) world.cutOff(machine, item.cutMs);
      if (item.diesMs === 0) struck(stage, machine, item);
      else if (item.diesMs !== undefined) world.scheduler.after(item.diesMs, () => struck(stage, machine, item));
    });
  };
  world.tookEffect = (machine, isReplay) => {
    strike(machine, "all");
    if (isReplay) strike(machine, "replays");
  };
  world.onLetter = (by) => {
    strike(by, "letters");
    decideSoon(stage, seen.letters);
  };
}

function stallAtLeases({ world }: Stage): void {
  let leases = 0;
  world.onLease = (machine) => {
    const now = leases;
    leases += 1;
    world.plan.items.forEach((item, index) => {
      if (item.kind !== "stall" || item.which !== now || world.omitted.items.has(index)) return;
      world.counts.faults += 1;
      world.scheduler.after(item.delayMs, () => world.freeze(machine, item.forMs, item.first));
    });
  };
}

function struck({ fleet }: Stage, machine: Machine, item: Extract<EventsItem, { kind: "strike" }>): void {
  const place = fleet.places.findIndex((each) => each.machine === machine);
  fleet.kill(place, item.awayMs, "strike");
  if (item.all) fleet.strikeConsumers(item.awayMs);
}

/** The newest are decided about soon, sometimes before whoever wrote them has heard of it. */
function decideSoon(stage: Stage, letters: number): void {
  const { world } = stage;
  const { eagerMs, seed } = world.plan;
  if (eagerMs === undefined || world.isQuiet) return;
  const draw = mixed(seed, letters, 31);
  world.scheduler.after(((draw % 1_000) / 1_000) * eagerMs, () => decide(stage, draw >>> 4, draw % 4 === 0));
}

function sweepNowAndThen(stage: Stage): void {
  const { world, fleet } = stage;
  const { sweepEveryMs } = world.plan;
  if (sweepEveryMs === undefined) return;
  world.scheduler.after(sweepEveryMs, () => {
    fleet.desk.machine.deliver("reply", () => {
      fleet.desk.inbox.sweep().catch(() => undefined);
    });
    sweepNowAndThen(stage);
  });
}

function sweepOutboxNowAndThen({ world, fleet }: Stage): void {
  const { outboxKeeps } = world.plan;
  if (outboxKeeps === undefined) return;
  const { outbox, machine } = fleet.desk;
  const sweep = (): void => {
    machine.deliver("reply", () => {
      outbox.sweep().catch(() => undefined);
    });
    world.scheduler.after(outboxKeeps.sweepEveryMs, sweep);
  };
  world.scheduler.after(outboxKeeps.sweepEveryMs, sweep);
}

function pause({ world, fleet }: Stage, of: "inbox" | "outbox", action: "pause" | "resume"): void {
  const { machine, inbox, outbox } = fleet.desk;
  world.note(`a person lets the ${of} ${action}`);
  machine.deliver("reply", () => {
    (of === "inbox" ? inbox : outbox)[action](by).catch(() => undefined);
  });
}

function heal({ world, broker, fleet }: Stage): void {
  world.note("the faults are over");
  world.isQuiet = true;
  world.databaseAwayUntilMs = 0;
  world.brokerAwayUntilMs = 0;
  world.cutOffMs.clear();
  for (const machine of world.machines) machine.wake("reply");
  fleet.restore();
  broker.wake();
}

/** What nobody has brought to its end yet: an effect that is missing, or anything that still waits. */
function unfinished({
  world,
  ledger,
  broker,
}: Stage): { readonly invariant: string; readonly detail: string } | undefined {
  const { strangers } = ledger;
  const untold = strangers.untold();
  if (untold !== undefined) return { invariant: "untold", detail: untold };
  for (const id of [...ledger.events.map((event) => event.id), ...strangers.given]) {
    for (const handler of handlerNames(world)) {
      if (ledger.effectsOf(handler, id) === 0 && !ledger.isDiscarded(handler, id))
        return { invariant: "lost", detail: `${handler} of ${id}` };
    }
  }
  const waiting = Number(runStatement("select count(*) as waiting from ichido_outbox").rows[0]?.["waiting"]);
  if (waiting > 0) return { invariant: "stuck", detail: `${waiting} events in the outbox` };
  if (broker.size > 0) return { invariant: "stuck", detail: `${broker.size} messages at the broker` };
  const parked = Number(runStatement("select count(*) as parked from ichido_inbox_parked").rows[0]?.["parked"]);
  if (parked > 0) return { invariant: "stuck", detail: `${parked} messages parked` };
  const [letter] = [...ledger.letters, ...ledger.relays.letters];
  return letter === undefined ? undefined : { invariant: "stuck", detail: `letter of ${letter.id}: ${letter.reason}` };
}

const roundMs = 1_000;
const roundsMax = 150;

function* atRest(stage: Stage): Events<boolean> {
  const { world, ledger } = stage;
  const { scheduler } = world;
  for (let round = 0; round < roundsMax && !scheduler.isStopped; round += 1) {
    if (!(yield* scheduler.runUntil(scheduler.nowMs + roundMs, eventsMax))) return false;
    if (unfinished(stage) === undefined) break;
    const letters = ledger.letters.length + ledger.relays.letters.length;
    for (let which = 0; which < letters; which += 1) decide(stage, which, false);
    for (const of of ledger.pauses.paused) pause(stage, of, "resume");
    yield;
  }
  if (scheduler.isStopped) return true;
  const left = unfinished(stage);
  if (left !== undefined) world.violate(left.invariant, left.detail);
  const effects = runStatement("select count(*) as effects from effects").rows[0]?.["effects"];
  if (effects !== world.counts.effects - ledger.outside) throw new Error("the ledger and the table of effects differ");
  return true;
}

function* played(world: EventsWorld): Events<void> {
  const { scheduler, plan, omitted } = world;
  const ledger = new Ledger(world);
  const server = createDatabaseServer(world, ledger);
  const broker = new Broker(world, ledger);
  const provider = new Provider(world, ledger);
  const fleet = createFleet(world, { server, broker, provider, ledger });
  const stage: Stage = { world, server, ledger, broker, fleet, provider };
  yield;
  strikeAtCommits(stage);
  stallAtLeases(stage);
  sweepNowAndThen(stage);
  sweepOutboxNowAndThen(stage);
  plan.items.forEach((item, index) => {
    if (!omitted.items.has(index)) scheduler.at(item.atMs, () => play(stage, item, index));
  });
  let isWhole = yield* scheduler.runUntil(plan.spanMs, eventsMax);
  if (isWhole && !scheduler.isStopped) {
    heal(stage);
    yield;
    isWhole = yield* atRest(stage);
  }
  if (!isWhole) world.violate("runaway", `more than ${eventsMax} events`);
}

function historyOf(world: EventsWorld): EventsHistory {
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

export function runEventsHistory(seed: number, omitted: Omissions = nothingOmitted, keepsTrace = false): EventsHistory {
  const world = new EventsWorld(eventsPlanOf(seed), omitted, keepsTrace);
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

export async function runEventsHistoryByTurns(seed: number): Promise<EventsHistory> {
  const world = new EventsWorld(eventsPlanOf(seed), nothingOmitted, false);
  await driveByTurns(played(world));
  return historyOf(world);
}
