/** What runs, where it listens, and what was counted of it so far. */
import { lanes, type LaneName, type ProcessView, type StateView } from "./contract.ts";
import { deckView } from "./deck.ts";
import { limitsOffered } from "./limits.ts";
import type { World } from "./playground.ts";

export function stateOf(world: World | undefined, isServer: boolean): StateView {
  const offered = { deck: deckView(isServer), limits: limitsOffered() };
  if (world === undefined) return { started: false, bankMode: "dedupes", processes: [], ...offered };
  const { folder, startMs, log, bank, bankMode } = world;
  return {
    started: true,
    startMs,
    folder,
    bankMode,
    logFile: log.file,
    processes: [
      { name: "bank", pid: bank.pid, url: bank.url, restarts: 0, ask: `curl -s ${bank.url}/ledger` },
      ...lanes.map((lane) => processOf(world, lane)),
    ],
    ...offered,
  };
}

function processOf(world: World, lane: LaneName): ProcessView {
  const { process: child, proxy } = world.lanes[lane];
  const { pid, restarts, lastRestartMs } = child;
  return {
    name: lane,
    pid,
    url: `http://127.0.0.1:${child.port}`,
    proxyUrl: proxy.url,
    restarts,
    ...(lastRestartMs === undefined ? {} : { lastRestartMs }),
    ask: world.data.ask(lane, "SELECT * FROM payments"),
  };
}
