import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAlive, newFolder, startProgram } from "./support/program.ts";
import { until } from "./support/poll.ts";
import { bankOf, charges, launchShop, pay, send, setFault, startBank, startShop } from "./support/shop.ts";

const isGone = (url: string) =>
  fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    () => false,
    () => true,
  );

describe("starting", () => {
  it("names every wrong variable with expectation and value, and exits with 1", async () => {
    const shop = launchShop({
      PORT: "70000",
      IDEMPOTENCY_LEASE_MS: "60001",
      IDEMPOTENCY_RETENTION_MS: "1d",
      GATEWAY_URL: "bank:3001",
      GATEWAY_TIMEOUT_MS: "0",
      SHOP_TOKENS: "secret-token",
    });
    expect(await shop.exited).toEqual({ code: 1, signal: null });
    const errors = shop.output.errors();
    expect(errors).toContain('shop: PORT: expected an integer from 0 to 65535, got "70000"\n');
    expect(errors).toContain('IDEMPOTENCY_LEASE_MS: expected an integer from 50 to 60000, got "60001"\n');
    expect(errors).toMatch(/IDEMPOTENCY_RETENTION_MS: expected an integer from .* got "1d"\n/);
    expect(errors).toContain('GATEWAY_URL: expected an http:// or https:// URL, got "bank:3001"\n');
    expect(errors).toMatch(/GATEWAY_TIMEOUT_MS: expected .* got "0"\n/);
    expect(errors).toMatch(/SHOP_TOKENS: expected token=tenant\/user/);
    expect(errors).not.toContain("secret-token");
    expect(errors).not.toMatch(/^\s+at /m);
    expect(shop.output.lines).toEqual([]);
  });

  it.each([
    [
      "a scheme that nobody speaks",
      "DATABASE_URL",
      "mongodb://me:hunter2@db/shop",
      /expected postgres:.*got "mongodb:\/\/…"/,
    ],
    ["no URL at all", "DATABASE_URL", "hunter2", /expected postgres:.*got "\(not a URL\)"/],
    ["no database named", "DATABASE_URL", "mysql://me:hunter2@127.0.0.1", /expected .*mysql:\/\/host\/database/],
    ["a database for keys", "KEY_STORE_URL", "postgres://me:hunter2@db/shop", /expected redis:.*got "postgres:\/\/…"/],
    [
      "no PostgreSQL there",
      "DATABASE_URL",
      "postgres://me:hunter2@127.0.0.1:1/shop",
      /127\.0\.0\.1:1.*nothing listens there/,
    ],
    [
      "no MariaDB there",
      "DATABASE_URL",
      "mysql://me:hunter2@127.0.0.1:1/shop",
      /127\.0\.0\.1:1.*nothing listens there/,
    ],
    ["no Redis there", "KEY_STORE_URL", "redis://:hunter2@127.0.0.1:1", /127\.0\.0\.1:1.*nothing listens there/],
    ["a host that is not known", "DATABASE_URL", "postgres://me:hunter2@nowhere.invalid/shop", /not known|looked up/],
  ])("%s: one line that names the variable and not the password, exit code 1", async (_what, name, url, expected) => {
    const shop = launchShop({ SHOP_DATA: newFolder(), [name]: url });
    expect(await shop.exited).toEqual({ code: 1, signal: null });
    const errors = shop.output.errors();
    expect(errors).toMatch(expected);
    expect(errors).toContain(name);
    expect(errors).toMatch(/^shop: .*\n$/);
    expect(errors).not.toContain("hunter2");
    expect(shop.output.lines).toEqual([]);
  });

  it("says that no bank answers at GATEWAY_URL, or that what answers is none, and exits with 1", async () => {
    const other = createHttpServer((_request, response) => response.end("hello")).listen(0, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as { port: number };
    const closed = createServer().listen(0, "127.0.0.1");
    await once(closed, "listening");
    const { port: nobody } = closed.address() as { port: number };
    closed.close();
    const [stranger, silent] = [port, nobody].map((each) =>
      launchShop({ SHOP_DATA: newFolder(), GATEWAY_URL: `http://127.0.0.1:${each}` }),
    );
    expect(await stranger?.exited).toEqual({ code: 1, signal: null });
    expect(await silent?.exited).toEqual({ code: 1, signal: null });
    other.close();
    expect(stranger?.output.errors()).toBe(
      `shop: cannot use the bank at http://127.0.0.1:${port} (GATEWAY_URL): what answers there is not the bank\n`,
    );
    expect(silent?.output.errors()).toMatch(/^shop: .*\(GATEWAY_URL\): nothing listens there.*\n$/);
  });

  it("says that the port is taken, exits with 1 and leaves no bank behind", async () => {
    const blocker = createServer().listen(0, "127.0.0.1");
    await once(blocker, "listening");
    const { port } = blocker.address() as { port: number };
    const shop = launchShop({ SHOP_DATA: newFolder(), PORT: String(port) });
    expect(await shop.exited).toEqual({ code: 1, signal: null });
    blocker.close();
    expect(shop.output.errors()).toBe(
      `shop: cannot listen on 127.0.0.1:${port}: another process listens there; choose another port (0 picks a free one)\n`,
    );
    expect(await isGone(await bankOf(shop))).toBe(true);
  });

  it("says that the data folder cannot be used", async () => {
    const shop = launchShop({ SHOP_DATA: "/dev/null/shop" });
    expect(await shop.exited).toEqual({ code: 1, signal: null });
    expect(shop.output.errors()).toMatch(/^shop: cannot open the database \/dev\/null\/shop\/shop\.sqlite: /);
  });

  it("warns about the published tokens off loopback, and not on it", async () => {
    const bank = await startBank({ BANK_DATA: join(newFolder(), "bank.db") });
    const quiet = { GATEWAY_URL: bank.url };
    const [open, own, local] = await Promise.all([
      startShop({ ...quiet, SHOP_DATA: newFolder(), HOST: "0.0.0.0" }),
      startShop({ ...quiet, SHOP_DATA: newFolder(), HOST: "0.0.0.0", SHOP_TOKENS: "t0k=en==acme/user-9" }),
      startShop({ ...quiet, SHOP_DATA: newFolder() }),
    ]);
    expect(open.output.errors()).toContain("set SHOP_TOKENS");
    expect(own.output.errors()).toBe("");
    expect(local.output.errors()).toBe("");
    const url = own.url.replace("0.0.0.0", "127.0.0.1");
    expect((await send(`${url}/payments/x`, { token: "t0k=en=" })).status).toBe(404);
    expect((await send(`${url}/payments/x`, { token: "demo-1" })).status).toBe(401);
    expect((await send(`${url}/`)).text).not.toContain("t0k");
  });

  it("uses a bank that is already running, and does not stop it", async () => {
    const folder = newFolder();
    const bank = await startBank({ BANK_DATA: join(folder, "elsewhere.db") });
    const shop = await startShop({ SHOP_DATA: folder, GATEWAY_URL: `${bank.url}/` });
    expect(shop.output.lines).toEqual([`shop ready ${shop.url}`]);
    expect((await pay(shop)).status).toBe(201);
    shop.kill("SIGTERM");
    expect(await shop.exited).toEqual({ code: 0, signal: null });
    expect(await charges(bank.url)).toHaveLength(1);
  });

  it("keeps payments, keys and ledger over a restart", async () => {
    const SHOP_DATA = newFolder();
    const key = randomUUID();
    const before = await startShop({ SHOP_DATA });
    const paid = await pay(before, { key });
    before.kill("SIGTERM");
    await before.exited;
    const after = await startShop({ SHOP_DATA });
    const replay = await pay(after, { key });
    expect([replay.status, replay.text]).toEqual([200, paid.text]);
    expect((await send(`${after.url}${String(paid.headers.get("location"))}`)).body).toEqual(paid.body);
    expect(await charges(await bankOf(after))).toHaveLength(1);
  });
});

describe("ending", () => {
  it.each(["SIGTERM", "SIGINT"] as const)(
    "%s: stops accepting, finishes what runs, stops its bank, exits with 0",
    async (signal) => {
      const shop = await startShop({ SHOP_DATA: newFolder(), SHOP_HANDLER_DELAY_MS: "1000" });
      const bank = await bankOf(shop);
      const running = pay(shop);
      await until("the payment is claimed", async () =>
        (await send(`${shop.url}/metrics`)).text.includes('{state="processing"} 1'),
      );
      shop.kill(signal);
      await until("the port is closed", () => isGone(`${shop.url}/healthz`));
      expect((await running).status).toBe(201);
      expect(await shop.exited).toEqual({ code: 0, signal: null });
      expect(await isGone(bank)).toBe(true);
      expect(shop.output.errors()).toBe("");
    },
  );

  it("E-05 finishes and records a payment whose caller has gone", async () => {
    const SHOP_DATA = newFolder();
    const shop = await startShop({ SHOP_DATA, SHOP_HANDLER_DELAY_MS: "700" });
    const key = randomUUID();
    const caller = new AbortController();
    const gone = fetch(`${shop.url}/payments`, {
      method: "POST",
      signal: caller.signal,
      headers: { authorization: "Bearer demo-1", "idempotency-key": key, "content-type": "application/json" },
      body: JSON.stringify({ bookingId: "booking-1", amount: 1200, currency: "EUR" }),
    }).catch((error: Error) => error.name);
    await until("the payment is claimed", async () =>
      (await send(`${shop.url}/metrics`)).text.includes('{state="processing"} 1'),
    );
    caller.abort();
    expect(await gone).toBe("AbortError");
    shop.kill("SIGTERM");
    expect(await shop.exited).toEqual({ code: 0, signal: null });
    const next = await startShop({ SHOP_DATA });
    const replay = await pay(next, { key });
    expect([replay.status, replay.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(await charges(await bankOf(next))).toHaveLength(1);
  });

  it("is not held up by a connection that was opened ahead of need", async () => {
    const shop = await startShop({ SHOP_DATA: newFolder() });
    const silent = connect(Number(new URL(shop.url).port), "127.0.0.1");
    await once(silent, "connect");
    await send(`${shop.url}/healthz`);
    shop.kill("SIGTERM");
    await once(silent.resume(), "end", { signal: AbortSignal.timeout(8_000) });
    silent.destroy();
    expect(await shop.exited).toEqual({ code: 0, signal: null });
  });

  it("is not held up by a bank that is silent about open outcomes", async () => {
    const folder = newFolder();
    const bank = await startBank({ BANK_DATA: join(folder, "bank.db") });
    const settings = { SHOP_DATA: folder, GATEWAY_URL: bank.url };
    await setFault(bank.url, { mode: "timeout-before-charge" });
    const first = await startShop({ ...settings, GATEWAY_TIMEOUT_MS: "200" });
    const interims = await Promise.all(Array.from({ length: 6 }, () => pay(first)));
    expect(interims.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 202]);
    first.kill("SIGKILL");
    await first.exited;
    // Asking for all of them one after the other would take longer than ending may.
    const second = await startShop({ ...settings, GATEWAY_TIMEOUT_MS: "10000" });
    await until("the open outcomes are seen", async () =>
      (await send(`${second.url}/metrics`)).text.includes('{state="unknown"} 6'),
    );
    second.kill("SIGTERM");
    expect(await second.exited).toEqual({ code: 0, signal: null });
  });

  it("takes its bank along when it is killed by SIGKILL", async () => {
    const shop = await startShop({ SHOP_DATA: newFolder() });
    const bank = await bankOf(shop);
    expect(await isGone(`${bank}/ledger`)).toBe(false);
    shop.kill("SIGKILL");
    await until("the bank has ended", () => isGone(`${bank}/ledger`));
  });

  it.skipIf(process.platform !== "linux")(
    "starts its bank again when that dies, on the same port (needs /proc)",
    async () => {
      const shop = await startShop({ SHOP_DATA: newFolder() });
      const bank = await bankOf(shop);
      await pay(shop);
      const [pid] = readFileSync(`/proc/${shop.pid}/task/${shop.pid}/children`, "utf8").trim().split(" ").map(Number);
      process.kill(pid ?? Number.NaN, "SIGKILL");
      await until("the bank is gone", () => !isAlive(pid ?? 0));
      await until("the bank is back", async () => !(await isGone(`${bank}/ledger`)));
      expect((await pay(shop)).status).toBe(201);
      expect(await charges(bank)).toHaveLength(2);
    },
  );

  it("npm start: SIGTERM to npm ends npm, the shop and its bank", async () => {
    const npm = startProgram(["npm", "start"], { SHOP_DATA: newFolder(), PORT: "0" });
    const url = await npm.line("shop ready ");
    const bank = await npm.line("bank ready ");
    expect((await pay({ url })).status).toBe(201);
    npm.kill("SIGTERM");
    await npm.exited;
    expect(await isGone(`${url}/healthz`)).toBe(true);
    expect(await isGone(`${bank}/ledger`)).toBe(true);
  });

  it("npm run bank: starts the bank alone", async () => {
    const npm = startProgram(["npm", "run", "bank"], { BANK_DATA: join(newFolder(), "bank.db"), BANK_PORT: "0" });
    const url = await npm.line("bank ready ");
    expect(await charges(url)).toEqual([]);
    npm.kill("SIGTERM");
    await npm.exited;
    expect(await isGone(`${url}/ledger`)).toBe(true);
  });
});
