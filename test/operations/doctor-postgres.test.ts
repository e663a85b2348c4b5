/** Each misconfiguration that `doctor` names, seeded one by one on a real PostgreSQL server; and the right set-up. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import cors from "cors";
import express from "express";
import { createIchido, type Ichido } from "ichido";
import { idempotency } from "ichido/express";
import { createInbox } from "ichido/inbox";
import { diagnose, type DoctorParts, type FindingCode } from "ichido/operations";
import { postgresStore, type PostgresStore, type PostgresStoreOptions } from "ichido/postgres";
import { fakeClock } from "ichido/testing";
import { pgTransactions } from "ichido/transactions";
import { Pool } from "pg";
import { afterAll, afterEach, beforeEach, expect, test } from "vitest";
import { describeWith, startPgbouncer, startPostgres, startStandby, uniqueName } from "../support/services.ts";
import { eventually } from "../support/eventually.ts";

const hourMs = 3_600_000;

describeWith("postgres", "doctor on PostgreSQL", async () => {
  const server = await startPostgres({ settings: { fsync: "on", wal_level: "replica" } });
  const ends: (() => Promise<unknown>)[] = [];
  let seed = 0;
  let tablePrefix: string;
  let pool: Pool;

  beforeEach(() => {
    // Tables of its own for each test: a database of its own takes longer, on a server that waits for its disk.
    tablePrefix = `${uniqueName("t").replaceAll("-", "_")}_`;
    pool = open(server.url);
  });
  afterEach(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
  });
  afterAll(() => server.stop());

  function open(connectionString: string, options?: string): Pool {
    const made = new Pool({ connectionString, max: 4, ...(options && { options }) });
    made.on("error", () => undefined);
    ends.push(() => made.end());
    return made;
  }

  function on(client: Pool, options?: PostgresStoreOptions): PostgresStore {
    return postgresStore(client, { tablePrefix, ...options });
  }

  async function store(options?: PostgresStoreOptions): Promise<PostgresStore> {
    const made = on(pool, options);
    ends.push(() => made.close());
    await made.migrate();
    return made;
  }

  async function found(parts: DoctorParts): Promise<readonly FindingCode[]> {
    const findings = await diagnose(parts);
    for (const { what, remedy } of findings) expect([what, remedy].every((text) => text.length > 10)).toBe(true);
    return findings.map(({ code }) => code);
  }

  /** An engine whose time passes at will; its notes reach the real store. */
  function engineOn(kept: PostgresStore, options: Partial<Parameters<typeof createIchido>[0]> = {}) {
    const clock = fakeClock({ seed: (seed += 1) });
    const ichido: Ichido = createIchido({
      store: kept,
      scope: () => ({ principal: "ann" }),
      onUnknown: "rerun",
      environment: clock.environment,
      ...options,
    } as never);
    ends.push(() => ichido.close());
    const noted = async (): Promise<void> => {
      const before = (await kept.engines?.())?.length ?? 0;
      await clock.advance(10_000);
      await eventually(async () => expect((await kept.engines?.())?.length).toBeGreaterThan(before));
    };
    return { clock, ichido, noted };
  }

  const request = (key: string) => ({ operation: "payment.create", scope: { principal: "ann" }, key });

  test("a right set-up has no finding, with an engine that serves, an inbox and a subscription", async () => {
    const kept = await store();
    const { ichido, noted } = engineOn(kept);
    await ichido.run(request("k"), () => 1);
    await noted();
    const inbox = createInbox({ transactions: pgTransactions(pool), tablePrefix, retentionMs: 24 * hourMs });
    await inbox.migrate();
    const subscriptions = [{ name: "orders", redeliveryMsMax: hourMs }];
    expect(await found({ ichido, inbox, subscriptions, clientTimeoutMs: 30_000 })).toEqual([]);
  });

  test("schema-missing: nobody migrated", async () => {
    expect(await found({ ichido: { store: on(pool) } })).toEqual(["schema-missing"]);
  });

  test("schema-older: the newest migration is not there", async () => {
    const kept = await store();
    const { rows } = await pool.query(
      `select max(version) as newest from ${tablePrefix}migrations where part = 'records'`,
    );
    await pool.query(`delete from ${tablePrefix}migrations where part = 'records' and version = $1`, [rows[0].newest]);
    expect(await found({ ichido: { store: kept } })).toEqual(["schema-older"]);
  });

  test("schema-drifted: a column was dropped; the remedy is the statement that brings it back", async () => {
    const kept = await store();
    await pool.query(`alter table ${tablePrefix}steps drop column last_started_at`);
    const [finding, ...more] = await diagnose({ ichido: { store: kept } });
    expect(finding).toMatchObject({ code: "schema-drifted", severity: "error" });
    await pool.query(finding?.remedy ?? "");
    expect(more).toEqual([]);
    expect(await found({ ichido: { store: kept } })).toEqual([]);
  });

  test("schema-drifted: a migration was applied with other content", async () => {
    const kept = await store();
    await pool.query(`update ${tablePrefix}migrations set checksum = 'x' where part = 'records' and version = 1`);
    expect(await found({ ichido: { store: kept } })).toEqual(["schema-drifted"]);
  });

  test("index-missing: the remedy makes it again, also in a schema of its own", async () => {
    const kept = await store({ schema: "apart" });
    expect(await found({ ichido: { store: kept } })).toEqual([]);
    await pool.query(`drop index apart.${tablePrefix}records_labels`);
    const [finding] = await diagnose({ ichido: { store: kept } });
    expect(finding?.code).toBe("index-missing");
    await pool.query(finding?.remedy ?? "");
    expect(await found({ ichido: { store: kept } })).toEqual([]);
  });

  test("rights-missing: a role that may read alone", async () => {
    await store();
    const role = `reader_${tablePrefix}role`;
    await pool.query(`create role ${role} login; grant select on all tables in schema public to ${role}`);
    const url = new URL(server.url);
    url.username = role;
    expect(await found({ ichido: { store: on(open(url.href)) } })).toEqual(["rights-missing"]);
    await pool.query(`drop owned by ${role}; drop role ${role}`);
  });

  test("server-read-only and not-durable: settings of the session", async () => {
    await store();
    const asked = async (options: string) => found({ ichido: { store: on(open(server.url, options)) } });
    expect(await asked("-c default_transaction_read_only=on")).toEqual(["server-read-only"]);
    expect(await asked("-c synchronous_commit=off")).toEqual(["not-durable"]);
  });

  test("standby-asynchronous; on the standby itself server-read-only; none where commits wait for it", async () => {
    const kept = await store();
    const standby = await startStandby(server, { settings: { fsync: "on" } });
    ends.push(() => standby.stop());
    await eventually(async () => expect(await found({ ichido: { store: kept } })).toEqual(["standby-asynchronous"]));
    await eventually(async () =>
      expect(await found({ ichido: { store: on(open(standby.url)) } })).toEqual(["server-read-only"]),
    );
    await pool.query("alter system set synchronous_standby_names = 'ANY 1 (*)'");
    await pool.query("select pg_reload_conf()");
    ends.push(async () => {
      await open(server.url).query("alter system reset synchronous_standby_names");
      await open(server.url).query("select pg_reload_conf()");
    });
    await eventually(async () => expect(await found({ ichido: { store: kept } })).toEqual([]));
  }, 60_000);

  test("clock-apart: the host is five minutes ahead", async () => {
    const kept = await store();
    const environment = { wallMs: () => Date.now() + 300_000 };
    expect(await found({ ichido: { store: kept }, environment })).toEqual(["clock-apart"]);
  });

  test("store-unreachable: nobody listens there", async () => {
    const nowhere = new URL(server.url);
    nowhere.port = "1";
    expect(await found({ ichido: { store: on(open(nowhere.href), { callTimeoutMs: 300 }) } })).toEqual([
      "store-unreachable",
    ]);
  });

  test("driver-old: an installed driver below the supported range", async () => {
    const kept = await store();
    const versionOf = (name: string) => (name === "pg" ? "8.7.1" : undefined);
    expect(await found({ ichido: { store: kept }, versionOf })).toEqual(["driver-old"]);
  });

  test("runtime-old: another process on the same tables runs an old Node", async () => {
    const kept = await store();
    const text = JSON.stringify({
      v: 1,
      process: "a:1",
      runtime: "Node 20.11.0",
      options: {},
      operations: {},
      steps: {},
    });
    await kept.noteEngine?.({ engine: "a", text });
    expect(await found({ ichido: { store: kept } })).toEqual(["runtime-old"]);
  });

  test("engines-differ: two engines, one table, other options", async () => {
    const kept = await store();
    for (const retentionMs of [24 * hourMs, 48 * hourMs]) {
      const { ichido, noted } = engineOn(kept, { retentionMs });
      await ichido.run(request(`k${retentionMs}`), () => 1);
      await noted();
    }
    expect(await found({ ichido: { store: kept } })).toEqual(["engines-differ"]);
  });

  test("lease-short and client-timeout-short: handlers that take longer", async () => {
    const kept = await store();
    const { clock, ichido, noted } = engineOn(kept, { leaseMs: 2_000 });
    await ichido.run(request("k"), () => clock.stall(5_000)).catch(() => undefined);
    await noted();
    const codes = await found({ ichido, clientTimeoutMs: { "payment.create": 3_000 } });
    expect(codes).toEqual(["lease-short", "client-timeout-short"]);
  });

  test("provider-timeout-short: calls of a step are given up after the same time", async () => {
    const kept = await store();
    const { clock, ichido, noted } = engineOn(kept);
    const call = (key: string, tookMs: number, answered: boolean) =>
      ichido.run(request(key), (ctx) =>
        ctx.step("bank.charge", () => {
          clock.stall(tookMs);
          if (!answered) throw new Error("time-out");
          return 1;
        }),
      );
    await call("a", 900, true);
    for (const key of ["b", "c", "d"]) await call(key, 1_000, false).catch(() => undefined);
    await noted();
    expect(await found({ ichido })).toEqual(["provider-timeout-short"]);
  });

  test("cookie-optional-key, and cors-not-exposed where the marker is not named; neither once mended", async () => {
    const kept = await store();
    const origin = "https://shop.example";
    const serve = async (exposedHeaders: string[], required: boolean): Promise<DoctorParts> => {
      const { ichido, noted } = engineOn(kept);
      const app = express();
      app.use(cors({ origin, exposedHeaders }));
      const route = idempotency(ichido as Ichido<express.Request>, { operation: "session.create", required });
      app.post("/sessions", route, (_, answer) => void answer.cookie("session", "1").status(201).json({}));
      const service = app.listen(0, "127.0.0.1");
      ends.push(async () => service.close());
      await once(service, "listening");
      const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/sessions`;
      const headers = { "idempotency-key": `k${exposedHeaders.length}`, origin };
      expect((await fetch(url, { method: "POST", headers })).status).toBe(201);
      await noted();
      return { ichido, preflights: [{ url, origin }] };
    };
    expect(await found(await serve([], false))).toEqual(["cookie-optional-key", "cors-not-exposed"]);
    await pool.query(`delete from ${tablePrefix}engines`);
    expect(await found(await serve(["Idempotency-Replayed"], true))).toEqual([]);
  });

  test("sweeper-behind: records that expired long ago are still there", async () => {
    const kept = await store();
    const { ichido } = engineOn(kept);
    await ichido.run(request("k"), () => 1);
    await pool.query(`update ${tablePrefix}records set expires_at = clock_timestamp() - interval '5 hours'`);
    expect(await found({ ichido })).toEqual(["sweeper-behind"]);
  });

  test("retention-below-redelivery and retention-below-dead-letters", async () => {
    const kept = await store();
    const inbox = createInbox({ transactions: pgTransactions(pool), tablePrefix, retentionMs: 2 * hourMs });
    await inbox.migrate();
    const parts = { ichido: { store: kept }, inbox };
    const subscriptions = [{ name: "orders", redeliveryMsMax: 24 * hourMs }];
    expect(await found({ ...parts, subscriptions })).toEqual(["retention-below-redelivery"]);
    await pool.query(
      `insert into ${tablePrefix}inbox_dead (handler, id, print, topic, envelope, payload, reason, error, attempts, since_ms, state)
       values ('ship', 'e1', '', 'order.paid', '{}', '', 'failed', 'x', 5, $1, 'dead')`,
      [Date.now() - 5 * hourMs],
    );
    expect(await found(parts)).toEqual(["retention-below-dead-letters"]);
  });

  test("pooler-session: listen behind PgBouncer in transaction mode; none without listen", async () => {
    await store();
    const pooler = await startPgbouncer(server.url, { poolMode: "transaction" });
    ends.push(() => pooler.stop());
    const through = open(pooler.url);
    const listening = on(through, { listen: true });
    ends.push(() => listening.close());
    expect(await found({ ichido: { store: listening } })).toEqual(["pooler-session"]);
    expect(await found({ ichido: { store: on(through) } })).toEqual([]);
  });

  test("preflight-refused: a service that allows other headers, or no origin; none where the key is allowed", async () => {
    const kept = await store();
    let headers: Readonly<Record<string, string>> = {};
    const service = createServer((_, answer) => answer.writeHead(204, headers).end());
    await new Promise<void>((resolve) => void service.listen(0, "127.0.0.1", resolve));
    ends.push(async () => service.close());
    const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/payments`;
    const origin = "https://shop.example";
    const asked = () => found({ ichido: { store: kept }, preflights: [{ url, origin }] });
    expect(await asked()).toEqual(["preflight-refused"]);
    const shared = { "access-control-allow-origin": origin, "access-control-expose-headers": "Idempotency-Replayed" };
    headers = { ...shared, "access-control-allow-headers": "content-type" };
    expect(await asked()).toEqual(["preflight-refused"]);
    headers = { ...headers, "access-control-allow-headers": "Content-Type, Idempotency-Key" };
    expect(await asked()).toEqual([]);
    service.close();
    service.closeAllConnections();
    expect(await asked()).toEqual(["address-unreachable"]);
  });
});
