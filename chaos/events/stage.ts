/** What a run of events takes place on: a store, a broker, a fleet on both, a desk and two banks. */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startBackend, type Backend } from "../backends/backend.ts";
import { Banks } from "../banks.ts";
import { Desk } from "../desk.ts";
import type { Violation } from "../history.ts";
import { programIn, type Source } from "../programs.ts";
import { slackMsDefault } from "../settings.ts";
import type { StoreName } from "../setup.ts";
import { Tally } from "../tally.ts";
import { startBroker, type BrokerBackend } from "./brokers.ts";
import { EventsFleet } from "./fleet.ts";
import type { EventLedgers, EventsTold } from "./judgement.ts";
import type { BrokerName, EventsSetup } from "./setup.ts";

export type EventsControl = "none" | "naive" | "no-fence";

export interface EventsStageOptions {
  readonly store: StoreName;
  readonly broker: BrokerName;
  readonly control: EventsControl;
  /** Processes of each role. Default 3. */
  readonly each?: number;
}

export interface EventsStage {
  readonly backend: Backend;
  readonly broker: BrokerBackend;
  readonly banks: Banks;
  readonly fleet: EventsFleet;
  readonly tally: Tally;
  /** What the processes told of themselves. */
  readonly violations: Violation[];
  look(): Promise<EventLedgers>;
  close(): Promise<void>;
}

const readySeconds = 120;

async function sourceOf(control: EventsControl): Promise<Source> {
  if (control === "no-fence") return (await import("./no-fence.ts")).relaysWithoutFence();
  return { root: join(import.meta.dirname, "../.."), remove: () => {} };
}

export async function openEventsStage(options: EventsStageOptions): Promise<EventsStage> {
  const { store, control, each = 3 } = options;
  const source = await sourceOf(control);
  const banks = await Banks.open();
  let order: (line: string) => void = () => {};
  const tally = new Tally();
  const backend = await startBackend(
    store,
    (line) => order(line),
    () => tally.noRoom,
  );
  const broker = await startBroker(options.broker);
  const setup: Omit<EventsSetup, "role"> = {
    store,
    url: backend.url,
    broker: options.broker,
    brokerUrl: broker.url,
    banks: { honest: banks.honest.url, deaf: banks.deaf.url },
    slackMs: slackMsDefault,
    naive: control === "naive",
  };
  const violations: Violation[] = [];
  const told: EventsSetup = { ...setup, role: "desk" };
  const desk = await Desk.open(await programIn(source, "events/desk.child.ts"), told, tally);
  const program = await programIn(source, "events/worker.child.ts");
  const isProxied = backend.line !== undefined;
  const fleet = await EventsFleet.launch({ program, setup, isProxied, each, tally, violations });
  order = (line) => {
    fleet.order(line);
    desk.order(line);
  };
  while (fleet.ready.length < fleet.berths.length && tally.seconds < readySeconds) await sleep(20);
  return {
    backend,
    broker,
    banks,
    fleet,
    tally,
    violations,
    look: async () => ({
      told: await desk.tell<EventsTold>(),
      honest: banks.honest.ledger(),
      deaf: banks.deaf.ledger(),
    }),
    async close() {
      await fleet.stop();
      await desk.stop();
      await broker.stop();
      await backend.stop();
      await banks.close();
      source.remove();
    },
  };
}
