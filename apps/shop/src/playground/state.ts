/** What runs, where it listens, and what was counted of it so far. */
import type { BankChild } from "../bank/child.ts";
import { lanes, type LaneName, type ProcessView, type StateView } from "./contract.ts";
import { deckView } from "./deck.ts";
import type { LaneProcess } from "./lane-process.ts";
import { limitsOffered } from "./limits.ts";
import type { OwnPostgres } from "./own-postgres.ts";
import { isAlive, type World } from "./playground.ts";
import { price } from "./runs.ts";

export function stateOf(world: World | undefined, noServer: string | undefined): StateView {
  const offered = { deck: deckView(noServer), limits: limitsOffered(), price };
  if (world === undefined) return { started: false, bankMode: "dedupes", processes: [], ...offered };
  const { folder, startMs, log, bank, bankMode, postgres } = world;
  return {
    started: true,
    startMs,
    folder,
    bankMode,
    logFile: log.file,
    processes: [
      { name: "bank", ...lifeOf(bank), url: bank.url, ask: `curl -s ${bank.url}/ledger` },
      ...lanes.map((lane) => processOf(world, lane)),
      ...(postgres === undefined ? [] : [databaseOf(postgres)]),
    ],
    ...offered,
  };
}

/** Nobody kills it, and nobody starts it again. */
function databaseOf({ pid, url }: OwnPostgres): ProcessView {
  return { name: "database", pid, isUp: isAlive(pid), url, restarts: 0, ask: `psql "${url}" -c "\\dn"` };
}

function lifeOf({ pid, restarts, lastRestartMs }: BankChild | LaneProcess) {
  return { pid, isUp: isAlive(pid), restarts, ...(lastRestartMs === undefined ? {} : { lastRestartMs }) };
}

function processOf(world: World, lane: LaneName): ProcessView {
  const { process: child, proxy } = world.lanes[lane];
  return {
    name: lane,
    ...lifeOf(child),
    url: `http://127.0.0.1:${child.port}`,
    proxyUrl: proxy.url,
    ask: world.data.ask(lane, "SELECT * FROM payments"),
  };
}
