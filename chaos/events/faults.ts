/** What goes wrong: with processes, with their lines to store and broker, with store, broker and bank themselves. */
import type { Backend } from "../backends/backend.ts";
import { bankFault } from "../faults/bank-faults.ts";
import type { Fault, Scene } from "../faults/fault.ts";
import { lineFaultsOf } from "../faults/line-faults.ts";
import { processFaults } from "../faults/process-faults.ts";
import { storeFaultsOf } from "../faults/store-faults.ts";
import type { BrokerBackend } from "./brokers.ts";
import type { Berth, EventsFleet } from "./fleet.ts";

export interface EventsScene extends Omit<Scene, "fleet"> {
  readonly fleet: EventsFleet;
  readonly broker: BrokerBackend;
}

/** Bytes of every call about an event. To MySQL and MariaDB texts are sent in hexadecimal. */
const keyOn = ({ url }: Backend): string => (url.startsWith("mysql") ? Buffer.from("ev-").toString("hex") : "ev-");

/** The same fault on the line to the broker. */
function onBrokerLine(fault: Fault, fleet: EventsFleet): Fault {
  const seen = ({
    brokerProxy,
    child,
    underWay,
    isVeteran,
    isStruck,
    isEnding,
  }: Berth): Scene["fleet"]["ready"][number] => ({
    proxy: brokerProxy,
    child,
    underWay,
    isVeteran,
    isStruck,
    isEnding,
  });
  // Writers know no broker.
  const only = (berths: readonly Berth[]) => berths.filter(({ role }) => role !== "writer").map(seen);
  return {
    ...fault,
    name: `broker-${fault.name}`,
    strike: (scene) =>
      fault.strike({
        ...scene,
        fleet: {
          get ready() {
            return only(fleet.ready);
          },
          get berths() {
            return only(fleet.berths);
          },
        },
      }),
  };
}

function brokerRestart(broker: BrokerBackend): Fault {
  return {
    name: "broker-restart",
    everyMs: broker.restMs,
    needs: "broker",
    async strike({ fleet }) {
      const wasBusy = fleet.ready.some(({ underWay }) => underWay > 0);
      await broker.restart();
      return wasBusy;
    },
  };
}

export function eventFaultsOf({ backend, broker, fleet, only }: EventsScene): readonly Fault[] {
  const all = [
    // By the clock of a process it is told whether a message is too old: clocks must agree within five minutes.
    ...processFaults.filter(({ name }) => name !== "clock-app"),
    ...(backend.line === undefined ? [] : lineFaultsOf({ ...backend.line, key: keyOn(backend) })),
    ...lineFaultsOf({ key: broker.calls }).map((fault) => onBrokerLine(fault, fleet)),
    // Answers fill the disk of a server; events are too small.
    ...storeFaultsOf(backend).filter(({ name }) => name !== "store-full" || backend.line === undefined),
    brokerRestart(broker),
    bankFault,
  ];
  return only === undefined ? all : all.filter(({ name }) => only.includes(name));
}
