/**
 * The playground's own little world: a bank, two lanes and a faulty network before each, in a folder of their own. It starts
 * when somebody first uses it, and ends with the shop.
 */
import { mkdir, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { startBankChild, type BankChild } from "../bank/child.ts";
import { reasonOf } from "../errors.ts";
import type { FaultSetting } from "../bank/faults.ts";
import type { BankMode, Charge, LaneName } from "./contract.ts";
import { openData, type DatabaseAddress, type PlaygroundData } from "./data.ts";
import { needsServer } from "./deck.ts";
import { EventLog } from "./event-log.ts";
import { startFaultProxy, type FaultProxy } from "./fault-proxy.ts";
import { createGrowth, type Growth } from "./growth.ts";
import { startOwnPostgres, type OwnPostgres } from "./own-postgres.ts";
import { startLaneProcess, type LaneProcess } from "./lane-process.ts";

export interface Lane {
  readonly process: LaneProcess;
  readonly proxy: FaultProxy;
}

export interface World {
  readonly folder: string;
  readonly startMs: number;
  readonly log: EventLog;
  readonly bank: BankChild;
  readonly lanes: Readonly<Record<LaneName, Lane>>;
  readonly data: PlaygroundData;
  /** Its own one, where it has one. */
  readonly postgres: OwnPostgres | undefined;
  /** Why its rows are in files, where they are. */
  readonly noServer: string | undefined;
  readonly growth: Growth;
  readonly bytesAtStart: Readonly<Record<LaneName, number>>;
  bankMode: BankMode;
  charges(): Promise<readonly Charge[]>;
  /** What the bank does from now on, or with the next orders. */
  bankFault(setting: FaultSetting): Promise<void>;
  stop(): Promise<void>;
}

export interface WorldOptions {
  readonly dataFolder: string;
  /** A PostgreSQL in place of SQLite files. */
  readonly databaseUrl: string | undefined;
  /** Why rows are to be in files. Where neither this nor an address is given, a PostgreSQL of its own is started. */
  readonly noServer: string | undefined;
  readonly logLine: (line: string) => void;
}

/** One below the other: of each process that uses this data folder, and of nobody else. */
export async function startWorld({ dataFolder, databaseUrl, noServer, logLine }: WorldOptions): Promise<World> {
  const beganMs = performance.now();
  const undo: (() => unknown)[] = [];
  const stop = async (): Promise<void> => {
    for (const step of undo.splice(0).toReversed()) await step();
  };
  try {
    const folder = await ownFolder(join(dataFolder, "playground"));
    undo.push(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
    const log = new EventLog(folder);
    undo.push(() => log.close());
    const own = databaseUrl === undefined && noServer === undefined ? await ownPostgres(logLine) : { noServer };
    const { postgres } = own;
    undo.push(() => postgres?.stop());
    const data = await openData(folder, addressOf(databaseUrl, postgres));
    undo.push(() => data.close());
    let lasting: FaultSetting = { mode: "normal" };
    const bank = await startBankChild(join(folder, "bank.sqlite"), logLine, {
      announce: false,
      // One that was killed comes back as it was set: the page says so.
      faults: () => lasting,
      onExit: (pid, reason) => log.note({ who: "supervisor", pid, what: "bank-exit", detail: reason }),
    });
    undo.push(() => bank.stop());
    const startLane = async (name: LaneName): Promise<Lane> => {
      const child = await startLaneProcess(name, { folder, bankUrl: bank.url, variables: data.variables(name) }, log);
      undo.push(() => child.stop());
      const proxy = await startFaultProxy({ lane: name, log, target: () => child.port });
      undo.push(() => proxy.close());
      return { process: child, proxy };
    };
    const [unprotectedLane, protectedLane] = await Promise.all([startLane("unprotected"), startLane("protected")]);
    const growth = createGrowth(data);
    const { lanes: atStart } = await growth.sample();
    return {
      folder,
      startMs: Math.round(performance.now() - beganMs),
      log,
      bank,
      lanes: { unprotected: unprotectedLane, protected: protectedLane },
      data,
      postgres,
      noServer: own.noServer,
      growth,
      bytesAtStart: { unprotected: atStart.unprotected.bytes, protected: atStart.protected.bytes },
      bankMode: "dedupes",
      charges: () => chargesOf(bank.url),
      async bankFault(setting) {
        if (setting.calls === undefined) lasting = setting;
        await setBankFault(bank.url, setting);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Own {
  readonly postgres?: OwnPostgres;
  readonly noServer?: string | undefined;
}

/** One that does not start is no reason to have no playground: its rows are in files then, and the page says why. */
async function ownPostgres(logLine: (line: string) => void): Promise<Own> {
  try {
    return { postgres: await startOwnPostgres() };
  } catch (error) {
    const why = `the PostgreSQL that npm installed did not start (${reasonOf(error)})`;
    logLine(`the playground keeps its rows in SQLite files: ${why}`);
    return { noServer: needsServer(why) };
  }
}

function addressOf(given: string | undefined, own: OwnPostgres | undefined): DatabaseAddress | undefined {
  if (given !== undefined) return { url: given, shown: "$PLAYGROUND_DATABASE_URL" };
  return own === undefined ? undefined : { url: own.url, shown: own.url };
}

/** Also removes what processes that were killed have left. */
async function ownFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true });
  for (const name of await readdir(parent)) {
    if (!isAlive(Number(name))) await rm(join(parent, name), { recursive: true, force: true });
  }
  const folder = join(parent, String(process.pid));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  return folder;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function chargesOf(bankUrl: string): Promise<readonly Charge[]> {
  const { charges } = (await (await fetch(`${bankUrl}/ledger`)).json()) as { readonly charges: readonly Charge[] };
  return charges;
}

async function setBankFault(bankUrl: string, setting: FaultSetting): Promise<void> {
  const { status } = await fetch(`${bankUrl}/faults`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(setting),
  });
  if (status !== 204) throw new Error(`the bank refused the fault: ${status}`);
}
