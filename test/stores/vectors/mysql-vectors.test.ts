import mysql2 from "mysql2/promise";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mysqlStore } from "ichido/mysql";
import { mysql2Transactions } from "ichido/transactions";
import { leaseAbsurdUs, lockWaitUs, tickPatienceUs } from "../../../packages/ichido/src/core/record-machine/bounds.ts";
import { dueUs, isNeeded } from "../../../packages/ichido/src/core/record-machine/view.ts";
import { encodeHeaders } from "../../../packages/ichido/src/stores/encoding.ts";
import { describeWith, freshDatabase, type FreshDatabase } from "../../support/services.ts";
import { nowUs } from "./cases.ts";
import type { Bed, Lying, Placed } from "./check.ts";
import { answerOf, lyingOf, textOf, type Columns } from "./columns.ts";
import { joined } from "./joined.ts";
import { runJoined, runVectors } from "./run.ts";

const names =
  "`key`, scope_hash, operation, fingerprint_version, fingerprint_raw, fingerprint_canonical, fingerprint_former, state, owner," +
  " origin, fence, life, attempts, doubt_stays, lease_us, step_starts, hold_reason, created_us, updated_us, expires_us, sweep_us," +
  " response_kind, response_status, response_headers, response_body, response_bytes";

const bytes = (value: Uint8Array | undefined): Buffer | null => (value === undefined ? null : Buffer.from(value));

/** Here a lease must lie further ahead than a lock wait, too, before it counts as absurd. */
const laidLease = (us: number): number => (us >= nowUs + leaseAbsurdUs ? us + lockWaitUs : us);
const foundLease = (us: number): number => (us >= nowUs + leaseAbsurdUs ? us - lockWaitUs : us);

function valuesOf({ identity, record }: Placed): unknown[] {
  const { raw, canonical, former } = record.fingerprint;
  const answer = record.response ?? record.interim;
  return [
    Buffer.from(identity.key),
    bytes(identity.scopeHash),
    Buffer.from(identity.operation),
    1,
    bytes(raw as Uint8Array),
    bytes(canonical as Uint8Array),
    bytes(former as Uint8Array | undefined),
    record.state,
    Buffer.from(record.owner),
    record.origin,
    record.fence,
    record.fence,
    record.attempts,
    Number(record.doubtStays),
    laidLease(record.leaseUs),
    record.stepsStarted,
    record.holdReason === undefined ? null : Buffer.from(record.holdReason),
    record.createdUs,
    record.updatedUs,
    record.expiresUs,
    isNeeded(record) ? (dueUs(record) ?? null) : record.expiresUs,
    answer?.kind ?? null,
    answer?.status ?? null,
    answer === undefined ? null : Buffer.from(encodeHeaders(answer.headers)),
    bytes(answer?.body),
    answer?.body.length ?? 0,
  ];
}

function stepValuesOf({ identity, record }: Placed): unknown[][] {
  return record.steps.map((step, index) => [
    Buffer.from(identity.key),
    bytes(identity.scopeHash),
    record.fence,
    Buffer.from(step.name),
    index,
    step.attempt,
    step.startedUs,
    step.lastStartedUs,
    step.finishedUs ?? null,
    bytes(step.result),
    record.fence,
  ]);
}

describeWith("mariadb", "MySQL by the record machine", (url) => {
  let database: FreshDatabase;
  let pool: mysql2.Pool;
  beforeAll(async () => {
    database = await freshDatabase(url);
    const { hostname: host, port, username: user } = new URL(database.url);
    pool = mysql2.createPool({ host, port: Number(port), user, database: database.name, connectionLimit: 8 });
    pool.pool.on("connection", (connection) => connection.query(`set timestamp = ${nowUs / 1_000_000}`));
    await mysqlStore(pool).migrate();
  });
  afterAll(async () => {
    await pool.end();
    await database.drop();
  });

  async function insert(table: string, columns: string, rows: readonly unknown[][]): Promise<void> {
    for (let start = 0; start < rows.length; start += 1_000) {
      await pool.query(`insert into ichido_${table} (${columns}) values ?`, [rows.slice(start, start + 1_000)]);
    }
  }

  const bed: Bed = {
    async arrange(placed, tick) {
      for (const table of ["records", "steps", "audit", "clock"]) await pool.query(`delete from ichido_${table}`);
      await insert("records", names, placed.map(valuesOf));
      const stepNames =
        "`key`, scope_hash, life, name, place, attempt, started_us, last_started_us, finished_us, result, start_fence";
      await insert("steps", stepNames, placed.flatMap(stepValuesOf));
      if (tick !== undefined) {
        const columns = "id, last_us, interval_us, steady_since_us";
        await insert("clock", columns, [[1, tick.lastUs, tick.intervalUs, tick.steadySinceUs]]);
      }
      // Lent by the pool alone: a connection of the store's own would have a clock that runs.
      return mysqlStore({ getConnection: () => pool.getConnection() }, { callTimeoutMs: 60_000 });
    },
    async lying() {
      const [rows] = await pool.query({ sql: "select * from ichido_records", rowsAsArray: false });
      return new Map((rows as Columns[]).map((row) => [textOf(row["key"]), lyingHere(row)]));
    },
    close: async () => undefined,
  };
  runVectors({ test, expect }, async () => bed, { judge: "the machine", tickPatienceUs });
  runJoined({ test, expect }, [
    {
      title: "answers on a transaction",
      verbs: ["complete"],
      open: async () => joined(bed, { runner: mysql2Transactions(pool) }),
    },
  ]);
});

function lyingHere(row: Columns): Lying {
  const common = lyingOf(row);
  const answer = answerOf(row, "response");
  const sweepUs = row["sweep_us"];
  return {
    ...common,
    leaseUs: foundLease(common.leaseUs),
    interim: common.state === "processing" ? answer : undefined,
    response: common.state === "completed" ? answer : undefined,
    hasSteps: Number(row["step_starts"]) > 0,
    mayGo: sweepUs !== null && Number(sweepUs) === common.expiresUs,
  };
}
