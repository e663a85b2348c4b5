/** A shop and its bank for seeded incidents: real HTTP, a real bank process and ledger, a store clock that can be moved. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import { createConsumer, createInbox } from "ichido/inbox";
import { createMetrics } from "ichido/metrics";
import { inProcess } from "ichido/in-process";
import { shopApp } from "../src/app.ts";
import { startBankChild } from "../src/bank/child.ts";
import { readConfig } from "../src/config.ts";
import { migrate } from "../src/database/migrate.ts";
import type { Database } from "../src/database/database.ts";
import { openSqlite } from "../src/database/sqlite.ts";
import { shopEngine } from "../src/engine.ts";
import { handlers } from "../src/events/handlers.ts";
import { bankGateway } from "../src/gateway/bank-gateway.ts";
import { listen } from "../src/listen.ts";
import { sqlPaymentRepository } from "../src/payments/sql-payment-repository.ts";
import { sqlRefundRepository } from "../src/payments/sql-refund-repository.ts";

const DRAIN_MS = 2_000;
const FLUSH_MS = 20;
const INBOX_RETENTION_MS = 8 * 86_400_000;
/** Nobody listens there. */
const BLIND_URL = "http://127.0.0.1:1";

export type Bed = Awaited<ReturnType<typeof openBed>>;

export const tokenOf = (customer: string): string => `token-${customer}`;

/** A database whose time can be moved. */
export interface BedDatabase {
  readonly database: Database;
  /** Absent: the file in the shop's folder. */
  readonly url?: string;
  readonly moveTo: (aheadMs: number) => Promise<void>;
}

export const databaseFile = (folder: string): string => join(folder, "shop.sqlite");

async function sqliteIn(folder: string): Promise<BedDatabase> {
  let aheadMs = 0;
  const database = await openSqlite(databaseFile(folder), { nowMs: () => Date.now() + aheadMs });
  return {
    database,
    async moveTo(ms) {
      aheadMs = ms;
    },
  };
}

/** `customers`: one token each. `open`: SQLite in the folder, unless told. Ended by `close`. */
export async function openBed(
  folder: string,
  customers: readonly string[],
  open: (folder: string) => Promise<BedDatabase> = sqliteIn,
) {
  const log = (): void => {};
  const tokens = customers.map((customer) => `${tokenOf(customer)}=acme/${customer}`).join(",");
  const settings = { SHOP_DATA: folder, SHOP_TOKENS: tokens, GATEWAY_TIMEOUT_MS: "60000" };
  const config = readConfig(settings);
  let aheadMs = 0;
  const bank = await startBankChild(join(folder, "bank.db"), log);
  const { database, url, moveTo } = await open(folder);
  await migrate(database);
  await database.keyStore.migrate();
  const store = database.keyStore;
  const engine = (gatewayUrl: string) => shopEngine({ config, store, gatewayUrl, attemptLog: { flushMs: FLUSH_MS } });
  const ichido = engine(bank.url);
  const ports = {
    payments: sqlPaymentRepository(database),
    refunds: sqlRefundRepository(database),
    gateway: bankGateway({ url: bank.url, timeoutMs: config.gatewayTimeoutMs }),
  };
  const events = { paid: async () => undefined };
  const app = shopApp({
    config,
    ichido,
    keyStore: store,
    ports,
    database,
    events,
    metrics: createMetrics(ichido),
    gatewayUrl: bank.url,
    log,
  });
  const listening = await listen(app, "127.0.0.1", 0);

  const inbox = createInbox({ transactions: database.transactions, retentionMs: INBOX_RETENTION_MS });
  await inbox.migrate();
  const broker = inProcess();
  const consumer = createConsumer({ subscription: broker.subscription, inbox, handlers });
  await consumer.start();
  const others: ChildProcess[] = [];

  /** Another shop on the same data, to be killed. */
  async function startOther(): Promise<{ readonly url: string; kill(): Promise<void> }> {
    const program = fileURLToPath(new URL("../src/main.ts", import.meta.url));
    const env = { ...process.env, ...settings, ...(url && { DATABASE_URL: url }), PORT: "0", GATEWAY_URL: bank.url };
    const child = fork(program, [], { env, stdio: ["ignore", "pipe", "ignore", "ipc"] });
    others.push(child);
    let text = "";
    for await (const chunk of child.stdout ?? []) {
      text += String(chunk);
      if (/shop ready \S+\n/.test(text)) break;
    }
    return {
      url: /shop ready (\S+)/.exec(text)?.[1] ?? "",
      async kill() {
        child.kill("SIGKILL");
        if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      },
    };
  }

  return {
    url: listening.url,
    folder,
    settings,
    blindUrl: BLIND_URL,
    bankUrl: bank.url,
    store,
    inbox,
    ichido,
    database,
    publisher: broker.publisher,
    /** An engine whose bank does not answer. */
    blind: () => engine(BLIND_URL),
    nowMs: (): number => Date.now() + aheadMs,
    /** Lets the time of the store pass. */
    pass: (ms: number): Promise<void> => moveTo((aheadMs += ms)),
    startOther,
    async close() {
      for (const child of others) child.kill("SIGKILL");
      await Promise.all([listening.part.stop({ drainMs: DRAIN_MS }), ichido.close()]);
      await consumer.stop({ drainMs: DRAIN_MS });
      await broker.publisher.close();
      await bank.stop();
      await database.close();
    },
  };
}
