/** The connection breaks around COMMIT, a hundred times each way: the client sees the same error, the truth differs. */
import { connect, createServer, type AddressInfo } from "node:net";
import { createFaultProxy } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import type { Caller, Handler } from "./callers.ts";
import { addEffect, mariadbBench, postgresBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";

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

/** Cuts the client off when it says COMMIT, and lets the server hear it only some time later. */
async function lateProxy(target: string, delayMs: number): Promise<{ readonly url: string; close(): void }> {
  const url = new URL(target);
  const host = url.hostname;
  const targetPort = Number(url.port === "" ? (url.protocol.startsWith("postgres") ? 5432 : 3306) : url.port);
  const listener = createServer({ noDelay: true }, (client) => {
    const server = connect({ host, port: targetPort, noDelay: true });
    server.on("data", (chunk) => void (client.destroyed || client.write(chunk)));
    client.on("data", (chunk) => {
      if (!chunk.includes("COMMIT")) return void server.write(chunk);
      client.destroy();
      setTimeout(() => server.write(chunk, () => setTimeout(() => server.end(), delayMs)), delayMs);
    });
    for (const socket of [client, server]) socket.on("error", () => undefined);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  url.hostname = "127.0.0.1";
  url.port = String((listener.address() as AddressInfo).port);
  return { url: url.href, close: () => listener.close() };
}

function lateSuite(make: () => Promise<Bench>): void {
  test("R7 a COMMIT that arrives after its connection was given up counts once, also for a handler that tries again", async () => {
    const bench = await make();
    const proxy = await lateProxy(bench.url, 400);
    const records = bench.side();
    const business = bench.side(proxy.url);
    const shop = caller({ ...records, runner: business.runner });
    const key = "late";
    let tries = 0;
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
    const first = await shop.ask(key, stubborn);
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await bench.effects(key)).toHaveLength(1);
    expect(first).toMatchObject({ status: 201 });
    expect(tries).toBe(1);
    expect(await shop.ask(key, stubborn)).toMatchObject({ status: 201, replayed: true });
    expect(await bench.effects(key)).toHaveLength(1);
    await shop.ichido.close();
    await records.close();
    await business.close();
    proxy.close();
    await bench.close();
  });
}

describeWith("postgres", "a lost COMMIT on PostgreSQL", () => suite(postgresBench));
describeWith("postgres", "a late COMMIT on PostgreSQL", () => lateSuite(postgresBench));
describeWith("mariadb", "a late COMMIT on MariaDB", () => lateSuite(mariadbBench));
describeWith("mariadb", "a lost COMMIT on MariaDB", () => suite(mariadbBench));
