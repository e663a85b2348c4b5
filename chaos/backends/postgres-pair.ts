/**
 * A primary and a standby that follows it. At a failover the primary dies in the middle of what it was sending, the standby
 * is promoted, and a new one follows. A synchronous standby has all that was acknowledged, an asynchronous one has not.
 */
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createFaultProxy, type FaultProxy } from "../../packages/ichido/src/testing/fault-proxy.ts";
import type { Instance } from "../../scripts/services/instance.ts";
import { startPostgres, startStandby } from "../../scripts/services/postgres.ts";
import { policies } from "../policies.ts";
import type { Backend } from "./backend.ts";
import { openSwitchboard, through } from "./switchboard.ts";

const settings = { wal_keep_size: "512MB", max_wal_senders: 5 };
const name = "follower";
const lagMs = 300;
const followsMs = 30_000;

async function ask(url: string, ...statements: readonly string[]): Promise<unknown> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    let value: unknown;
    for (const statement of statements) value = (await client.query<{ value: unknown }>(statement)).rows[0]?.value;
    return value;
  } finally {
    await client.end().catch(() => {});
  }
}

async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + followsMs;
  while (!(await isSo().catch(() => false))) {
    if (performance.now() > untilMs) throw new Error(`not within ${followsMs} ms: ${what}`);
    await sleep(20);
  }
}

interface Pair {
  readonly primary: Instance;
  readonly standby: Instance;
  /** Between the two. */
  readonly line: FaultProxy;
}

async function follow(primary: Instance, isSync: boolean): Promise<Pair> {
  const line = await createFaultProxy({ target: primary.url });
  const standby = await startStandby(primary, { settings, through: line.port, name });
  const state = (): Promise<unknown> =>
    ask(primary.url, `SELECT sync_state AS value FROM pg_stat_replication WHERE application_name = '${name}'`);
  await until("the standby follows", async () => (await state()) !== undefined);
  if (isSync) {
    // Only now: without a standby nothing could be committed.
    await ask(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '${name}'`, "SELECT pg_reload_conf()");
    await until("the standby is synchronous", async () => (await state()) === "sync");
  }
  return { primary, standby, line };
}

export async function startPostgresPair(isSync: boolean): Promise<Backend> {
  let pair = await follow(await startPostgres({ settings }), isSync);
  const board = await openSwitchboard(pair.primary.port);
  return {
    url: through(pair.primary.url, board),
    line: { key: "key-", commit: "COMMIT" },
    policies,
    isForgetful: !isSync,
    async failOver() {
      const { primary, standby, line } = pair;
      line.faults({ toClient: { stall: true } });
      await sleep(lagMs);
      await primary.kill("SIGKILL");
      await line.close();
      // The setting came with the data; nobody follows yet.
      await ask(
        standby.url,
        "SELECT pg_promote(true, 30)",
        "ALTER SYSTEM RESET synchronous_standby_names",
        "SELECT pg_reload_conf()",
      );
      board.lead(standby.port);
      await primary.stop();
      pair = await follow(standby, isSync);
    },
    async stop() {
      await board.close();
      await pair.line.close();
      await pair.standby.stop();
      await pair.primary.stop();
    },
  };
}
