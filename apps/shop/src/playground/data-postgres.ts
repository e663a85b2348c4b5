/**
 * A schema for each lane in a PostgreSQL, gone when the playground ends. One that was killed leaves its schemas: the next
 * to start drops those that carry the mark and whose lock nobody holds. The lock ends with the session of its owner,
 * wherever that ran; a process id would say nothing of another host.
 */
import { randomBytes } from "node:crypto";
import pg from "pg";
import { lanes, type LaneName } from "./contract.ts";
import type { DatabaseAddress, PlaygroundData } from "./data.ts";

const SIZES =
  "SELECT sum(pg_total_relation_size(c.oid)) AS total FROM pg_class c WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'";

export async function openSchemas({ url: databaseUrl, shown }: DatabaseAddress): Promise<PlaygroundData> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 4, application_name: "playground" });
  pool.on("error", () => undefined);
  const killer = createKiller(databaseUrl);
  const name = `playground_${randomBytes(6).toString("hex")}`;
  const schemaOf = (lane: LaneName): string => `${name}_${lane}`;
  const drop = async (): Promise<void> => {
    for (const lane of lanes) await pool.query(`DROP SCHEMA IF EXISTS ${schemaOf(lane)} CASCADE`);
  };
  let owner: pg.PoolClient | undefined;
  try {
    await dropLeftovers(pool);
    owner = await pool.connect();
    for (const lane of lanes) {
      await owner.query("SELECT pg_advisory_lock(hashtext($1))", [schemaOf(lane)]);
      await owner.query(`CREATE SCHEMA ${schemaOf(lane)}; COMMENT ON SCHEMA ${schemaOf(lane)} IS '${MARK}'`);
    }
  } catch (error) {
    owner?.release();
    await Promise.all([pool.end(), killer.close()]);
    throw error;
  }
  const count: PlaygroundData["count"] = async (lane, text, ...values) => {
    const client = await pool.connect();
    try {
      await client.query(`SET search_path = ${schemaOf(lane)}`);
      let at = 0;
      const numbered = text.replaceAll("?", () => `$${(at += 1)}`);
      const { rows } = await client.query<{ total: string }>(numbered, [...values]);
      return Number(rows[0]?.total ?? 0);
    } finally {
      client.release();
    }
  };
  return {
    count,
    bytes: (lane) => count(lane, SIZES),
    bytesInUse: (lane) => count(lane, SIZES),
    askBytes: SIZES,
    variables(lane) {
      const url = new URL(databaseUrl);
      url.searchParams.set("options", `-c search_path=${schemaOf(lane)}`);
      url.searchParams.set("application_name", schemaOf(lane));
      return { LANE_DATABASE_URL: url.href };
    },
    ask: (lane, text) => `psql "${shown}" -c "SET search_path = ${schemaOf(lane)}; ${text}"`,
    killConnections: (lane, goOn) => killer.end(schemaOf(lane), goOn),
    async close() {
      await killer.close();
      await drop();
      owner.release();
      await pool.end();
    },
  };
}

const MARK = "made by the playground of the shop of ichido";

async function dropLeftovers(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT nspname AS name FROM pg_namespace
       WHERE nspname ~ '^playground_[0-9a-f]{12}_(unprotected|protected)$'
         AND obj_description(oid, 'pg_namespace') = $1`,
      [MARK],
    );
    for (const { name } of rows) {
      const { rows: tried } = await client.query<{ free: boolean }>(
        "SELECT pg_try_advisory_lock(hashtext($1)) AS free",
        [name],
      );
      if (tried[0]?.free !== true) continue;
      await client.query(`DROP SCHEMA IF EXISTS ${name} CASCADE`);
      await client.query("SELECT pg_advisory_unlock(hashtext($1))", [name]);
    }
  } finally {
    client.release();
  }
}

const WAITING_MS = 5_000;

interface Killer {
  /** Ends the connections of a schema's lane in mid-statement; answers how many. */
  end(schema: string, goOn: () => void): Promise<number>;
  close(): Promise<void>;
}

/**
 * One at a time, on connections of its own: whoever counts rows waits for the lock that is held here, and would leave no
 * connection of a shared pool to end it with.
 */
function createKiller(connectionString: string): Killer {
  const pool = new pg.Pool({ connectionString, max: 2, application_name: "playground" });
  pool.on("error", () => undefined);
  let last: Promise<unknown> = Promise.resolve();
  return {
    end(schema, goOn) {
      const mine = last.then(() => killMidStatement(pool, schema, goOn));
      last = mine.catch(() => undefined);
      return mine;
    },
    close: () => pool.end(),
  };
}

/**
 * An idle connection that is ended is replaced without anybody's noticing. So the lane's table is locked, and its
 * connections are ended when the lane's next statement waits for that lock.
 */
async function killMidStatement(pool: pg.Pool, schema: string, goOn: () => void): Promise<number> {
  const holder = await pool.connect();
  try {
    await holder.query(`BEGIN; SET LOCAL lock_timeout = ${WAITING_MS}`);
    await holder.query(`LOCK TABLE ${schema}.payments IN ACCESS EXCLUSIVE MODE`);
    goOn();
    const ofLane = "FROM pg_stat_activity WHERE application_name = $1";
    for (const deadline = Date.now() + WAITING_MS; Date.now() < deadline;) {
      const { rowCount } = await pool.query(`SELECT 1 ${ofLane} AND wait_event_type = 'Lock'`, [schema]);
      if (rowCount !== 0) break;
    }
    const { rowCount } = await pool.query(`SELECT pg_terminate_backend(pid) ${ofLane}`, [schema]);
    return rowCount ?? 0;
  } finally {
    await holder.query("ROLLBACK");
    holder.release();
  }
}
