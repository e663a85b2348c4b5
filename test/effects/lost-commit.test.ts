/** The connection breaks around COMMIT, a hundred times each way: the client sees the same error, the truth differs. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { createFaultProxy } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import type { Caller, Handler } from "./callers.ts";
import { addEffect, mariadbBench, postgresBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";
import { openMariadb, openPostgresJs } from "./sides.ts";

const rounds = 100;

function suite(make: () => Promise<Bench>): void {
  let bench: Bench;
  let proxy: FaultProxy;
  let records: Side;
  let business: Side;
  let shop: Caller;
  beforeAll(async () => {
    bench = await make();
    proxy = await createFaultProxy({ target: bench.url });
    // Only the business connections are cut: the record must still be asked.
    records = bench.side();
    business = bench.side(proxy.url);
    shop = caller({ ...records, runner: business.runner });
  });
  afterAll(async () => {
    await shop?.ichido.close();
    await records?.close();
    await business?.close();
    await proxy?.close();
    await bench?.close();
  });

  let ran = 0;
  const writing =
    (name: string): Handler =>
    async (context) => {
      ran += 1;
      await context.transaction(async (_tx, handle) => {
        await addEffect(handle, name);
        return { status: 201, body: { name, attempt: context.attempt } };
      });
      return { status: 500 };
    };

  test.each([
    ["R8 COMMIT took effect and its answer was lost: resolved as committed", "after", 201],
    ["R8 COMMIT never arrived: resolved as rolled back, and the retry runs", "before", 500],
  ] as const)(`%s, ${rounds} of ${rounds}`, { timeout: 120_000 }, async (_title, place, status) => {
    const tally = { cut: 0, answered: 0, effects: 0, ran: 0 };
    for (let round = 0; round < rounds; round += 1) {
      const key = `${place}-${round}`;
      const cut = proxy.cut({ direction: "to-server", pattern: "COMMIT", place });
      ran = 0;
      const first = await shop.ask(key, writing(key));
      tally.cut += cut.count;
      tally.answered += first.status === status ? 1 : 0;
      expect(await bench.effects(key)).toHaveLength(place === "after" ? 1 : 0);
      const retry = await shop.ask(key, writing(key));
      expect(retry).toMatchObject({ status: 201, replayed: place === "after" });
      tally.effects += (await bench.effects(key)).length;
      tally.ran += ran;
    }
    expect(tally).toEqual({
      cut: rounds,
      answered: rounds,
      effects: rounds,
      ran: place === "after" ? rounds : 2 * rounds,
    });
  });

  test("R8 an answer on a transaction that the handler commits itself is resolved the same way", async () => {
    for (const place of ["after", "before"] as const) {
      const key = `own-${place}`;
      const handler: Handler = async (context) => {
        await business.runner.run(async (_tx, handle) => {
          await addEffect(handle, key);
          await context.complete(handle, { status: 201, body: { key } });
        });
        return { status: 200 };
      };
      proxy.cut({ direction: "to-server", pattern: "COMMIT", place });
      const first = await shop.ask(key, handler);
      expect(first.status).toBe(place === "after" ? 201 : 500);
      expect(await bench.effects(key)).toHaveLength(place === "after" ? 1 : 0);
      const retry = await shop.ask(key, handler);
      expect(retry).toMatchObject({ status: 201, replayed: place === "after" });
      expect(await bench.effects(key)).toHaveLength(1);
    }
  });
}

/**
 * A network that fails once, at the first COMMIT. `late`: the client is cut off, and the server hears COMMIT some time
 * later. `lost`, `unanswered`: COMMIT, or its answer, and whatever would follow, vanishes; neither side hears of an end.
 */
async function proxyAt(
  target: string,
  fault: "late" | "lost" | "unanswered",
): Promise<{ readonly url: string; reset(): void; close(): void }> {
  const url = new URL(target);
  const host = url.hostname;
  const targetPort = Number(url.port === "" ? (url.protocol.startsWith("postgres") ? 5432 : 3306) : url.port);
  const servers = new Set<Socket>();
  let isArmed = true;
  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ host, port: targetPort, noDelay: true });
    servers.add(server);
    let isCut = false;
    server.on("data", (chunk) => void (client.destroyed || isCut || client.write(chunk)));
    client.on("data", (chunk) => {
      if (isCut) return;
      isCut = isArmed && /\bcommit\b/i.test(chunk.toString("latin1"));
      if (isCut) isArmed = false;
      if (!isCut || fault === "unanswered") server.write(chunk);
      if (!isCut || fault !== "late") return;
      client.destroy();
      setTimeout(() => server.write(chunk, () => setTimeout(() => server.end(), giveUpMs)), giveUpMs);
    });
    for (const socket of [client, server]) socket.on("error", () => undefined);
    client.on("close", () => void (isCut || server.destroy()));
    server.on("close", () => servers.delete(server));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  url.hostname = "127.0.0.1";
  url.port = String((listener.address() as AddressInfo).port);
  const reset = (): void => servers.forEach((server) => server.destroy());
  return {
    url: url.href,
    reset,
    close() {
      listener.close();
      reset();
    },
  };
}

interface Driver {
  readonly name: string;
  readonly make: () => Promise<Bench>;
  /** The records straight on the server, the business through the proxy. */
  readonly open: (bench: Bench, through: string) => Side;
  readonly modes: readonly ("lease" | "transaction")[];
}

function apart(bench: Bench, business: Side): Side {
  const records = bench.side();
  return {
    ...records,
    runner: business.runner,
    async close() {
      await business.close();
      await records.close();
    },
  };
}

const both = ["lease", "transaction"] as const;
const postgresDrivers: readonly Driver[] = [
  { name: "pg", make: postgresBench, open: (bench, url) => apart(bench, bench.side(url)), modes: both },
  { name: "postgres.js", make: postgresBench, open: (bench, url) => openPostgresJs(bench.url, url), modes: both },
];
const mariadbDrivers: readonly Driver[] = [
  { name: "mysql2", make: mariadbBench, open: (bench, url) => apart(bench, bench.side(url)), modes: ["lease"] },
  { name: "mariadb", make: mariadbBench, open: (bench, url) => apart(bench, openMariadb(url)), modes: ["lease"] },
];

const giveUpMs = 2_000;

function lateSuite({ name, make, open, modes }: Driver): void {
  test.each(modes)(
    `R7 ${name}, %s mode: a COMMIT that arrives ${giveUpMs} ms after its connection was given up counts once`,
    async (mode) => {
      const bench = await make();
      const proxy = await proxyAt(bench.url, "late");
      const side = open(bench, proxy.url);
      const shop = caller(side);
      const key = "late";
      let tries = 0;
      // A handler that tries again where it is told that nothing was committed.
      const stubborn: Handler = async (context) => {
        const write = (): Promise<unknown> =>
          context.transaction(async (_tx, handle) => {
            tries += 1;
            await addEffect(handle, key);
            return { status: 201, body: { tries } };
          });
        await write().catch(write);
        return { status: 500 };
      };
      const first = await shop.ask(key, stubborn, { mode });
      expect(first).toMatchObject({ status: 201, text: '{"tries":1}' });
      expect(tries).toBe(1);
      expect(await bench.effects(key)).toHaveLength(1);
      expect(await shop.ask(key, stubborn, { mode })).toMatchObject({ status: 201, replayed: true });
      expect(await bench.effects(key)).toHaveLength(1);
      await shop.ichido.close();
      await side.close();
      proxy.close();
      await bench.close();
    },
  );

  test.each(modes)(
    `R7 ${name}, %s mode: one that arrives later than anybody asks leaves the outcome open, and counts once`,
    async (mode) => {
      const bench = await make();
      const proxy = await proxyAt(bench.url, "late");
      const side = open(bench, proxy.url);
      const shop = caller(
        { ...side, store: { ...side.store, callTimeoutMs: 100 } },
        { storeTimeoutMs: 1_000, leaseMs: 3_000, closeMs: 0 },
      );
      let ran = 0;
      const writing: Handler = async (context) => {
        ran += 1;
        await context.transaction(async (_tx, handle) => {
          await addEffect(handle, "later");
          return { status: 201, body: { ran } };
        });
        return { status: 500 };
      };
      const first = await shop.ask("later", writing, { mode });
      // Not an answer that anybody may take for final.
      expect(first.code).toMatch(/^(store-unavailable|idempotency-in-flight)$/);
      const retry = await eventually(async () => {
        const answer = await shop.ask("later", writing, { mode });
        expect(answer.status).toBe(201);
        return answer;
      }, 20_000);
      expect(retry).toMatchObject({ text: '{"ran":1}', replayed: true });
      expect(ran).toBe(1);
      expect(await bench.effects("later")).toHaveLength(1);
      await shop.ichido.close();
      await side.close();
      proxy.close();
      await bench.close();
    },
  );
}

/** The link goes half open at COMMIT: nobody hears of its end. */
function hungSuite({ name, make, open, modes }: Driver): void {
  const cases = modes.flatMap((mode) => (["unanswered", "lost"] as const).map((fault) => [mode, fault] as const));

  test.each(cases)(
    `R8 ${name}, %s mode: a COMMIT that is %s on a half-open link keeps nobody waiting`,
    async (mode, fault) => {
      const bench = await make();
      const proxy = await proxyAt(bench.url, fault);
      const side = open(bench, proxy.url);
      const shop = caller(
        { ...side, store: { ...side.store, callTimeoutMs: 100 } },
        { storeTimeoutMs: 1_000, executionMs: 4_000, leaseMs: 3_000, closeMs: 0 },
      );
      const writing: Handler = async (context) => {
        await context.transaction(async (_tx, handle) => {
          await addEffect(handle, "hung");
          return { status: 201, body: {} };
        });
        return { status: 500 };
      };
      const first = await shop.ask("hung", writing, { mode });
      // What is known not to be committed may also be told so to the handler, which then answers 500 here.
      if (fault === "unanswered") expect(first.status).toBe(201);
      else
        expect(first.code ?? first.status).toSatisfy((told) =>
          [500, "store-unavailable", "idempotency-in-flight"].includes(told as never),
        );
      expect(await bench.effects("hung")).toHaveLength(fault === "unanswered" ? 1 : 0);
      // PostgreSQL ends the transaction by itself, once executionMs have passed; MariaDB must hear of its end.
      if (bench.dialect === "mysql") proxy.reset();
      const retry = await eventually(async () => {
        const answer = await shop.ask("hung", writing, { mode });
        expect(answer.status).toBe(201);
        return answer;
      }, 30_000);
      expect(retry.replayed).toBe(fault === "unanswered");
      expect(await bench.effects("hung")).toHaveLength(1);
      await shop.ichido.close();
      proxy.close();
      await side.close();
      await bench.close();
    },
  );
}

describeWith("postgres", "a lost COMMIT on PostgreSQL", () => suite(postgresBench));
describeWith("mariadb", "a lost COMMIT on MariaDB", () => suite(mariadbBench));
describeWith("postgres", "a late COMMIT on PostgreSQL", () => postgresDrivers.forEach(lateSuite));
describeWith("mariadb", "a late COMMIT on MariaDB", () => mariadbDrivers.forEach(lateSuite));
describeWith("postgres", "a COMMIT on a half-open link, PostgreSQL", () => postgresDrivers.forEach(hungSuite));
describeWith("mariadb", "a COMMIT on a half-open link, MariaDB", () => mariadbDrivers.forEach(hungSuite));
