/** A run: one cart, paid in one lane or both under one fault, and what everybody counted of it. */
import { randomUUID } from "node:crypto";
import type { FaultSetting } from "../bank/faults.ts";
import type {
  BankMode,
  Charge,
  Charged,
  FaultName,
  LaneCounts,
  LaneName,
  LoggedEvent,
  Raw,
  RunView,
} from "./contract.ts";
import { lanes } from "./contract.ts";
import { deck } from "./deck.ts";
import type { EventLog } from "./event-log.ts";
import type { World } from "./playground.ts";
import type { Act } from "./stage.ts";

export interface Run {
  readonly run: string;
  readonly fault: FaultName;
  readonly orderId: string;
  readonly amount: number;
  readonly currency: string;
}

export const price = { amount: 4_200, currency: "EUR" } as const;

const bankFaults: Readonly<Record<BankMode, FaultSetting>> = {
  dedupes: { mode: "normal" },
  "ignores-references": { mode: "ignore-references" },
  slow: { mode: "slow", delayMs: 3_000 },
};

export function newRun(fault: FaultName): Run {
  const run = randomUUID().slice(0, 8);
  return { run, fault, orderId: `order-${run}`, ...price };
}

export async function setBankMode(world: World, mode: BankMode): Promise<void> {
  world.bankMode = mode;
  await world.bankFault(bankFaults[mode]);
  world.log.note({ who: "supervisor", pid: process.pid, what: "bank-mode", detail: mode });
}

/** Makes the fault wait for the next payment in this lane. */
export async function arm(world: World, lane: LaneName, { run, fault }: Run): Promise<void> {
  const { process: child, proxy } = world.lanes[lane];
  const { mechanism } = deck[fault];
  proxy.heal();
  await child.disarm();
  if (mechanism.by === "proxy") proxy.cut(mechanism.cut);
  if (mechanism.by === "supervisor") await child.killAt(mechanism.point);
  if (mechanism.by === "database") await armDrop(world, lane);
  if (mechanism.by === "buyer" && mechanism.heldAt !== undefined) {
    await child.pauseAt(mechanism.heldAt, (stopped) => buyerLeaves(world.log, lane, stopped));
  }
  if (mechanism.by === "bank") {
    await world.bankFault({ mode: mechanism.mode, calls: 1, delayMs: mechanism.silentMs });
  }
  world.log.note({ who: "supervisor", lane, run, pid: process.pid, what: "armed", detail: fault });
}

/** The connections of the lane's database are ended while the next payment writes down what the bank charged. */
export async function armDrop(world: World, lane: LaneName): Promise<void> {
  await world.lanes[lane].process.pauseAt("after-charge", async (stopped, goOn) => {
    const ended = await world.data.killConnections(lane, goOn);
    const detail = `pg_terminate_backend in mid-statement, ${ended} connections`;
    world.log.note({ who: "supervisor", lane, run: stopped, pid: process.pid, what: "kill-connections", detail });
  });
}

const LEAVES_MS_MAX = 10_000;

async function buyerLeaves(log: EventLog, lane: LaneName, run: string): Promise<void> {
  const isIt = (event: LoggedEvent): boolean => event.what === "left" && event.lane === lane && event.run === run;
  if (log.of(run).some(isIt)) return;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const unwatch = log.watch((event) => {
    if (isIt(event)) resolve();
  });
  const limit = setTimeout(() => reject(new Error(`the buyer stayed for ${LEAVES_MS_MAX} ms`)), LEAVES_MS_MAX);
  await promise.finally(() => {
    clearTimeout(limit);
    unwatch();
  });
}

/** A payment under a fault whose page has gone says nothing more. */
const SILENT_MS = 5_000;

/** What it does to the lanes and the bank is nobody else's to meet. */
export function actOf(world: World, { run, fault }: Run): Act {
  const inFlight = (): number => lanes.reduce((sum, lane) => sum + world.lanes[lane].proxy.inFlight, 0);
  return {
    what: `a payment under "${fault}"`,
    name: run,
    isAbandoned: () => Date.now() - (world.log.of(run).at(-1)?.atMs ?? 0) > SILENT_MS && inFlight() === 0,
    async clear() {
      for (const lane of lanes) {
        await disarm(world, lane);
        world.log.note({ who: "supervisor", lane, run, pid: process.pid, what: "disarmed", detail: fault });
      }
    },
  };
}

/** What a bank fault for one order has displaced. */
export async function disarm(world: World, lane: LaneName): Promise<void> {
  const { process: child, proxy } = world.lanes[lane];
  proxy.heal();
  await child.disarm();
  await world.bankFault(bankFaults[world.bankMode]);
}

export async function viewOf(world: World, run: Run): Promise<RunView> {
  const events = world.log.of(run.run);
  const charges = await world.charges();
  const counted = await Promise.all(
    lanes.map(async (lane) => [lane, await countsOf(world, lane, events, charges, run.orderId)] as const),
  );
  return {
    ...run,
    inFlight: lanes.reduce((sum, lane) => sum + world.lanes[lane].proxy.inFlight, 0),
    lanes: Object.fromEntries(counted) as Record<LaneName, LaneCounts>,
    events: withLedger(events, counted, world.bank.pid),
  };
}

async function countsOf(
  world: World,
  lane: LaneName,
  events: readonly LoggedEvent[],
  charges: readonly Charge[],
  orderId: string,
): Promise<LaneCounts> {
  const ofLane = events.filter((event) => event.lane === lane);
  const asked = new Set(ofLane.flatMap(({ what, reference }) => (what === "charge" ? [reference] : [])));
  const bankCharges = charges.filter(({ reference }) => asked.has(reference));
  return {
    buyerClicks: ofLane.filter(({ who, what }) => who === "buyer" && what === "click").length,
    proxyArrivals: ofLane.filter(({ who, what }) => who === "proxy" && what === "arrived").length,
    bankCharges,
    charged: chargedOf(bankCharges),
    databaseRows: await world.data.count(lane, "SELECT count(*) AS total FROM payments WHERE order_id = ?", orderId),
    supervisorRestarts: ofLane.filter(({ who, what }) => who === "supervisor" && what === "exit").length,
  };
}

/** Of one cart. */
export function chargedOf(charges: readonly Charge[]): Charged {
  const { length: count } = charges;
  return { count, tooMany: Math.max(0, count - 1), sum: charges.reduce((sum, { amount }) => sum + amount, 0) };
}

/** The bank writes no log here: when money moved is what its ledger says. */
function withLedger(
  events: readonly LoggedEvent[],
  counted: readonly (readonly [LaneName, LaneCounts])[],
  pid: number,
): readonly LoggedEvent[] {
  const moved = counted.flatMap(([lane, { bankCharges }]) =>
    bankCharges.map((charge): LoggedEvent => {
      const { chargeId, reference, at, amount } = charge;
      const raw: Raw = { kind: "row", table: "ledger", row: { ...charge } };
      const detail = `${chargeId} ${(amount / 100).toFixed(2)}`;
      return { seq: 0, who: "bank", lane, pid, what: "charged", atMs: Date.parse(at), detail, reference, raw };
    }),
  );
  return [...events, ...moved].toSorted((one, other) => one.atMs - other.atMs);
}
