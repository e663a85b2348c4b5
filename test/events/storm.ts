/**
 * Events through a broker while processes die: two relays and two consumers, one of each killed by SIGKILL every second
 * and started again, the broker killed and restarted once in the middle. In the end the ledger tells what took effect.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { TransactionHandle } from "ichido";
import { createOutbox } from "ichido/outbox";
import { openSide, type Side } from "../effects/sides.ts";
import { startNats, startRabbitmq, startRedis, type Instance } from "../support/services.ts";
import { inboxOn } from "./inbox-messages.ts";
import { startBalancer } from "./storm-balancer.ts";
import { openBroker, type BrokerKind } from "./storm-brokers.ts";
import { launchFleet } from "./storm-fleet.ts";
import { countLedger, createLedger, judge, type Verdict } from "./storm-ledger.ts";
import { outboxOptions } from "./storm-settings.ts";

export interface StormSize {
  readonly events: number;
  readonly keys: number;
  /** Of each kind; the storm ends earlier when everything has arrived. */
  readonly killsMax: number;
  readonly withinMs: number;
}

export interface StormReport extends Verdict {
  readonly events: number;
  readonly kills: number;
  readonly brokerRestarts: number;
  /** Redeliveries that the inbox saw as duplicates. */
  readonly duplicates: number;
  readonly failures: readonly string[];
  readonly outboxDead: number;
  readonly inboxDead: number;
  readonly deaths: readonly string[];
  readonly pending: number;
  readonly seconds: number;
}

const killEveryMs = 1_000;
/** Longer than any lease and ackWait here: what would come twice has come by then. */
const calmMs = 3_000;
const addedTogether = 50;

interface Sky {
  readonly url: string;
  add(port: number): void;
  remove(port: number): void;
  strike(): Promise<boolean>;
  clear(): Promise<void>;
}

async function skyOver(kind: BrokerKind): Promise<Sky> {
  const nothing = { add: () => {}, remove: () => {} };
  if (kind === "in-process") return { url: "", ...nothing, strike: async () => false, clear: async () => {} };
  if (kind === "webhook") {
    const balancer = await startBalancer();
    const strike = async (): Promise<boolean> => {
      await balancer.interrupt(1_000);
      return true;
    };
    return { ...balancer, strike, clear: () => balancer.close() };
  }
  const instance: Instance =
    kind === "nats"
      ? await startNats()
      : kind === "rabbitmq"
        ? await startRabbitmq()
        : await startRedis({ config: { appendonly: "yes", appendfsync: "always" } });
  return {
    url: instance.url,
    ...nothing,
    async strike() {
      await instance.kill("SIGKILL");
      await instance.restart();
      return true;
    },
    clear: () => instance.stop(),
  };
}

async function produce(side: Side, { events, keys }: StormSize, added: Set<string>): Promise<void> {
  const outbox = createOutbox({ ...outboxOptions, transactions: side.runner });
  for (let first = 0; first < events; first += addedTogether) {
    const ids: string[] = [];
    await side.runner.run(async (_tx, handle) => {
      ids.length = 0;
      for (let at = first; at < Math.min(events, first + addedTogether); at += 1) {
        const payload = { number: Math.floor(at / keys) };
        ids.push((await outbox.add(handle, { topic: "storm.rises", key: `key-${at % keys}`, payload })).id);
      }
    });
    for (const id of ids) added.add(id);
  }
}

export async function storm(
  kind: BrokerKind,
  database: { readonly dialect: TransactionHandle["dialect"]; readonly url: string },
  size: StormSize,
): Promise<StormReport> {
  const side = openSide(database.dialect, database.url);
  const outbox = createOutbox({ ...outboxOptions, transactions: side.runner });
  const inbox = inboxOn(side.runner);
  await outbox.migrate();
  await inbox.migrate();
  await createLedger(side);
  const sky = await skyOver(kind);
  if (kind !== "in-process") await (await openBroker(kind, sky.url)).prepare();
  const roles = kind === "in-process" ? ["both"] : ["relay", "consumer"];
  const startMs = performance.now();
  const fleet = launchFleet(roles, (role) => [role, kind, sky.url, database.dialect, database.url], sky);
  try {
    const added = new Set<string>();
    const producing = produce(side, size, added);
    let rounds = 0;
    let arrivals = 0;
    let brokerRestarts = 0;
    let strike: Promise<void> | undefined;
    const arrived = async (): Promise<boolean> => {
      const entries = await countLedger(side);
      arrivals = entries;
      if (entries >= size.events / 2)
        strike ??= sky.strike().then((struck) => {
          if (struck) brokerRestarts += 1;
        });
      return entries >= size.events;
    };
    // The first time as soon as something has arrived: on a fast machine a small storm is over within a second.
    let killAtMs = 0;
    while (!(await arrived()) && performance.now() - startMs < size.withinMs) {
      if (arrivals > 0 && rounds < size.killsMax && performance.now() >= killAtMs) {
        const struck = await Promise.all(roles.map((role) => fleet.kill(role)));
        if (struck.includes(true)) {
          rounds += 1;
          killAtMs = performance.now() + killEveryMs;
        }
      }
      await sleep(rounds === 0 ? 5 : 50);
    }
    const seconds = (performance.now() - startMs) / 1000;
    await producing;
    await strike;
    const calmUntilMs = performance.now() + 10 * calmMs;
    while ((await outbox.stats()).pending > 0 && performance.now() < calmUntilMs) await sleep(50);
    await sleep(calmMs);
    const { dead: outboxDead, pending } = await outbox.stats();
    const { dead: inboxDead } = await inbox.stats();
    await fleet.stop();
    const { kills, duplicates, failures, deaths } = fleet;
    const verdict = await judge(side, added);
    return {
      ...verdict,
      events: added.size,
      kills,
      brokerRestarts,
      duplicates,
      failures,
      outboxDead,
      inboxDead,
      deaths,
      pending,
      seconds,
    };
  } finally {
    await fleet.stop();
    await sky.clear();
    await side.close();
  }
}

export function summaryOf(title: string, report: StormReport): string {
  const { events, entries, lost, doubled, inversions, kills, brokerRestarts, duplicates, seconds } = report;
  return (
    `${title}: ${events} events, ${entries} ledger entries in ${seconds.toFixed(1)} s; ${lost.length} lost, ` +
    `${doubled.length} doubled, ${inversions.length} inversions, ${report.outboxDead + report.inboxDead} dead letters; ` +
    `${kills} kills, ${brokerRestarts} broker restarts, ${report.failures.length} ends by themselves, ` +
    `${duplicates} redeliveries seen as duplicate`
  );
}
