/** One run of the events: a store, a broker, a fleet on both, a desk, and everything that goes wrong. Then it is judged. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRandom } from "../../simulation/random.ts";
import { startBackend } from "../backends/backend.ts";
import { Banks } from "../banks.ts";
import { Desk } from "../desk.ts";
import { storm } from "../faults/storm.ts";
import type { Violation } from "../history.ts";
import { originNow } from "../../scripts/proof/origin.ts";
import { programIn, type Source } from "../programs.ts";
import { slackMsDefault } from "../settings.ts";
import type { StoreName } from "../setup.ts";
import { Tally } from "../tally.ts";
import { startBroker } from "./brokers.ts";
import { eventFaultsOf } from "./faults.ts";
import { EventsFleet } from "./fleet.ts";
import { judgeEvents, missingIn, type EventLedgers, type EventsTold } from "./judgement.ts";
import { eventSights, eventsVacuousBy, type EventsReport } from "./report.ts";
import type { BrokerName, EventsSetup } from "./setup.ts";

export type EventsControl = "none" | "naive" | "no-fence";

export interface EventsOptions {
  readonly store: StoreName;
  readonly broker: BrokerName;
  readonly seconds: number;
  readonly seed: number;
  readonly control: EventsControl;
  /** Processes of each role. Default 3. */
  readonly each?: number;
  /** Kinds of faults, by name; absent: all that store and broker can suffer. */
  readonly only?: readonly string[];
  readonly progress?: (line: string) => void;
}

/** After the last fault the next effect comes within this time, all of them within five times of it. */
const settleMs = 60_000;
const settlesMax = 5;
/** An event passes many processes, and each fault hits one of them: they leave it some time to arrive. */
const pace = 1.5;
/** Until everything was seen that a run must show: twice as long again, and a short run for some minutes. */
const longerMax = 2;
const longerSecondsMin = 150;
const sayMs = 1_000;
/** Longer than any lease and ackWait here: what would come twice has come by then. */
const afterwardsMs = 4_000;

async function sourceOf(control: EventsControl): Promise<Source> {
  if (control === "no-fence") return (await import("./no-fence.ts")).relaysWithoutFence();
  return { root: join(import.meta.dirname, "../.."), remove: () => {} };
}

async function lasts(isOver: () => boolean): Promise<void> {
  while (!isOver()) await sleep(50);
}

type Look = () => Promise<EventLedgers>;

/** Until every committed event has had its effects and nothing waits. */
async function settleAll(look: Look, isControl: boolean, progress: EventsOptions["progress"]): Promise<number> {
  const beganMs = performance.now();
  let untilMs = beganMs + settleMs;
  let before = Number.POSITIVE_INFINITY;
  while (performance.now() < untilMs) {
    const ledgers = await look();
    const { pending, outboxDead, parked, inboxDead } = ledgers.told.waiting;
    const left = missingIn(ledgers) + pending + outboxDead + parked + inboxDead;
    if (left === 0) break;
    progress?.(`calm: ${left} left (${JSON.stringify(ledgers.told.waiting)})`);
    // A busy machine is slow, but gets on. A control may never be done.
    if (left < before && !isControl) untilMs = Math.min(performance.now() + settleMs, beganMs + settlesMax * settleMs);
    before = Math.min(before, left);
    await sleep(sayMs);
  }
  return performance.now() - beganMs;
}

export async function runEvents(options: EventsOptions): Promise<EventsReport> {
  const { store, broker: brokerName, seconds, seed, control, only, each = 3 } = options;
  const random = createRandom(seed);
  const source = await sourceOf(control);
  const origin = originNow();
  const banks = await Banks.open();
  let order: (line: string) => void = () => {};
  const backend = await startBackend(store, (line) => order(line));
  const broker = await startBroker(brokerName);
  const setup: Omit<EventsSetup, "role"> = {
    store,
    url: backend.url,
    broker: brokerName,
    brokerUrl: broker.url,
    banks: { honest: banks.honest.url, deaf: banks.deaf.url },
    slackMs: slackMsDefault,
    naive: control === "naive",
  };
  const tally = new Tally();
  const desk = await Desk.open(
    await programIn(source, "events/desk.child.ts"),
    { ...setup, role: "desk" } satisfies EventsSetup,
    tally,
  );
  const violations: Violation[] = [];
  const program = await programIn(source, "events/worker.child.ts");
  const isProxied = backend.line !== undefined;
  const fleet = await EventsFleet.launch({ program, setup, isProxied, each, tally, violations });
  order = (line) => {
    fleet.order(line);
    desk.order(line);
  };
  const look: Look = async () => ({
    told: await desk.tell<EventsTold>(),
    honest: banks.honest.ledger(),
    deaf: banks.deaf.ledger(),
  });
  try {
    while (fleet.ready.length < fleet.berths.length && tally.seconds < settleMs / 1_000) await sleep(20);
    const scene = { fleet, backend, broker, banks, random, only, pace };
    const faults = eventFaultsOf(scene);
    const kinds = faults.map(({ name }) => name);
    const beganMs = performance.now();
    const endMs = beganMs + seconds * 1_000;
    const missing = (): readonly string[] => eventsVacuousBy(options, tally, kinds);
    // On a busy machine it takes longer until everything was seen that a run must show.
    const isOver = (): boolean =>
      performance.now() >= endMs &&
      (control !== "none" ||
        only !== undefined ||
        missing().length === 0 ||
        performance.now() >= endMs + Math.max(longerSecondsMin, longerMax * seconds) * 1_000);
    const saying = setInterval(() => {
      const counts = `${tally.faultsInAll} faults, ${tally.seen.get("duplicate") ?? 0} duplicates refused`;
      options.progress?.(
        [`${tally.seconds.toFixed(0)} s: ${counts}, ${violations.length} violations`, ...missing()].join("; "),
      );
    }, sayMs);
    await Promise.all([storm(scene, tally, isOver, faults), lasts(isOver)]);
    clearInterval(saying);
    const ranSeconds = (performance.now() - beganMs) / 1_000;
    fleet.order("rest", true);
    fleet.calm();
    const settledMs = await settleAll(look, control !== "none", options.progress);
    await sleep(afterwardsMs);
    const ledgers = await look();
    await fleet.stop();
    await desk.stop();
    const judged = judgeEvents(ledgers);
    violations.push(...judged.violations);
    return {
      part: "events",
      ...origin,
      store,
      broker: brokerName,
      control,
      seed,
      seconds: Math.round(ranSeconds),
      events: ledgers.told.events.length,
      effects: judged.effects,
      faults: tally.faultsInAll,
      faultsByKind: Object.fromEntries(kinds.map((kind) => [kind, tally.faults.get(kind) ?? 0])),
      seen: Object.fromEntries(eventSights.map((sight) => [sight, tally.seen.get(sight) ?? 0])),
      seenBesides: Object.fromEntries([...tally.seen].filter(([name]) => !eventSights.some((each) => each === name))),
      settledMs: Math.round(settledMs),
      violations,
      vacuous: missing(),
      troubles: tally.troubles,
    };
  } finally {
    await fleet.stop();
    await desk.stop();
    await broker.stop();
    await backend.stop();
    await banks.close();
    source.remove();
  }
}
