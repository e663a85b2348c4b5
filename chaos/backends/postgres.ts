/** A private PostgreSQL, alone or behind PgBouncer in transaction mode. */
import pg from "pg";
import { install, isInstalled } from "../../scripts/services/install.ts";
import type { Instance } from "../../scripts/services/instance.ts";
import { startPgbouncer } from "../../scripts/services/pgbouncer.ts";
import { startPostgres } from "../../scripts/services/postgres.ts";
import { policies } from "../policies.ts";
import type { Backend } from "./backend.ts";
import { fillable } from "./full-disk.ts";
import { shimmedServer } from "./shimmed-server.ts";

const restartsMax = 5;

/** Gives the value of the last statement. */
async function run(url: string, ...statements: readonly string[]): Promise<unknown> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => {});
  await client.connect();
  try {
    let value: unknown;
    for (const statement of statements) value = (await client.query<{ value: unknown }>(statement)).rows[0]?.value;
    return value;
  } finally {
    await client.end();
  }
}

/** A zombie that nobody has waited for yet is a running server to the next one. */
async function startAgain(server: Instance): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await server.restart();
    } catch (error) {
      if (tries === restartsMax) throw error;
    }
  }
}

export async function startPostgresBackend(commit = "COMMIT"): Promise<Backend> {
  const shim = shimmedServer();
  const server = await startPostgres({ env: shim?.env ?? {} });
  return {
    url: server.url,
    line: { key: "key-", commit },
    policies,
    async restart() {
      await server.kill("SIGKILL");
      await startAgain(server);
    },
    async readOnly(on) {
      const change = `ALTER SYSTEM SET default_transaction_read_only = ${on ? "on" : "off"}`;
      await run(server.url, change, "SELECT pg_reload_conf()");
    },
    bytes: async () => Number(await run(server.url, "SELECT pg_database_size(current_database()) AS value")),
    // Every crash makes the server forget what it had counted for its own timer.
    tidy: async () => void (await run(server.url, "VACUUM")),
    ...(shim === undefined ? {} : { leap: (ms: number) => shim.leap(ms), ...fillable(server, shim) }),
    async stop() {
      await server.stop();
      shim?.remove();
    },
  };
}

export async function startPgbouncerBackend(): Promise<Backend> {
  const server = await startPostgresBackend();
  if (!isInstalled("pgbouncer")) await install(["pgbouncer"], (line) => console.log(line));
  const pooler = await startPgbouncer(server.url, { settings: { server_login_retry: 0, query_wait_timeout: 2 } });
  return {
    ...server,
    url: pooler.url,
    async stop() {
      await pooler.stop();
      await server.stop();
    },
  };
}
