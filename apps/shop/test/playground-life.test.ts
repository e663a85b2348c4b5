import { existsSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { familyOf } from "../../../scripts/services/process-tree.ts";
import { freshDatabase, postgresUrl, servicesRequired } from "../../../test/support/services.ts";
import { call, driveFault } from "../playground-faults/drive.ts";
import { lanes, type LoggedEvent, type StateView } from "../src/playground/contract.ts";
import { hasOwnPostgres } from "../src/playground/own-postgres.ts";
import { findRedis } from "../src/playground/redis/private-redis.ts";
import { until } from "./support/poll.ts";
import { isAlive, newFolder, startProgram } from "./support/program.ts";
import { charges, pay, startBank, startShop, type Settings, type Shop } from "./support/shop.ts";

const isGreyed = findRedis() === undefined && !servicesRequired();
const shopWith = (settings: Settings = {}): Promise<Shop> => startShop({ SHOP_DATA: newFolder(), ...settings });

async function used(): Promise<{ readonly shop: Shop; readonly pids: readonly number[] }> {
  const shop = await shopWith();
  const { processes } = await call<StateView>(shop.url, "start", {});
  const pids = processes.map(({ pid }) => pid);
  expect(pids).toHaveLength(3);
  expect(pids.every(isAlive)).toBe(true);
  return { shop, pids };
}

const allGone = (pids: readonly number[]) => until("all have ended", () => !pids.some(isAlive));

describe("the playground's processes", () => {
  it("are not there before somebody uses them, whatever is looked at", async () => {
    const shop = await shopWith();
    await fetch(`${shop.url}/`);
    const { started, processes } = await call<StateView>(shop.url, "state");
    expect({ started, processes }).toEqual({ started: false, processes: [] });
  });

  it("use a bank of their own, never that of GATEWAY_URL, and say nothing on the shop's output", async () => {
    const bank = await startBank({ BANK_DATA: join(newFolder(), "bank.db") });
    const shop = await shopWith({ GATEWAY_URL: bank.url });
    await call<StateView>(shop.url, "start", {});
    const { view } = await driveFault(shop.url, "double-click");
    expect(lanes.map((lane) => view.lanes[lane].bankCharges.length)).toEqual([2, 1]);
    expect(await charges(bank.url)).toEqual([]);
    // The shop itself does charge there.
    expect((await pay(shop)).status).toBe(201);
    expect(await charges(bank.url)).toHaveLength(1);
    const { processes } = await call<StateView>(shop.url, "state");
    const own = processes.find(({ name }) => name === "bank")?.url ?? "";
    expect(own).not.toBe(bank.url);
    expect(shop.output.lines.filter((line) => line.startsWith("bank ready "))).toEqual([]);
    expect(shop.output.lines.join("\n")).not.toContain(own);
  });

  it.each(["SIGINT", "SIGTERM"] as const)("end with the shop on %s, and their folder with them", async (signal) => {
    const { shop, pids } = await used();
    shop.kill(signal);
    expect(await shop.exited).toEqual({ code: 0, signal: null });
    expect(pids.filter(isAlive)).toEqual([]);
  });

  it("end, and the shop with them, when the npm that started it is killed by SIGKILL", async () => {
    const npm = startProgram(["npm", "start"], { SHOP_DATA: newFolder(), PORT: "0" });
    const url = await npm.line("shop ready ");
    const { processes, folder = "" } = await call<StateView>(url, "start", {});
    const pids = processes.map(({ pid }) => pid);
    expect(existsSync(folder)).toBe(true);
    npm.kill("SIGKILL");
    // Its output is open for as long as anything lives that it started.
    await npm.exited;
    await allGone(pids);
    await expect(fetch(`${url}/healthz`)).rejects.toThrow(/fetch failed/);
    expect(existsSync(folder)).toBe(false);
  });

  it.skipIf(!hasOwnPostgres())(
    "a PostgreSQL of its own, all its processes and its data end with a shop that is killed (needs the one of npm)",
    async () => {
      const shop = await shopWith({ PLAYGROUND_STORE: "postgres" });
      const { processes } = await call<StateView>(shop.url, "start", {});
      const { pid = 0, url = "" } = processes.find(({ name }) => name === "database") ?? {};
      const client = new pg.Client({ connectionString: url });
      client.on("error", () => undefined);
      await client.connect();
      const { rows } = await client.query<{ data_directory: string }>("SHOW data_directory");
      const data = rows[0]?.data_directory ?? "";
      expect(existsSync(data)).toBe(true);
      const family = familyOf(pid);
      expect(family.length).toBeGreaterThan(2);
      shop.kill("SIGKILL");
      await shop.exited;
      await allGone([...processes.map((each) => each.pid), ...family]);
      await until("its data are removed", () => !existsSync(data));
    },
    180_000,
  );

  it.skipIf(!hasOwnPostgres())(
    "a PostgreSQL of its own ends with all that the shop had started, when all of that is killed at once (needs the one of npm)",
    async () => {
      const shop = await shopWith({ PLAYGROUND_STORE: "postgres" });
      const { processes } = await call<StateView>(shop.url, "start", {});
      const { pid = 0 } = processes.find(({ name }) => name === "database") ?? {};
      const family = familyOf(pid);
      // The group: the one that keeps it, too.
      process.kill(-shop.pid, "SIGKILL");
      await shop.exited;
      await allGone(family);
    },
    180_000,
  );

  it("end when the shop is killed by SIGKILL", async () => {
    const { shop, pids } = await used();
    shop.kill("SIGKILL");
    await shop.exited;
    await allGone(pids);
  });

  it.skipIf(isGreyed)(
    "a Redis of a limit, which has no channel to the shop, ends with a shop that is killed, too (needs redis-server)",
    async () => {
      const { shop } = await used();
      const cutOff = call(shop.url, "limits", { limit: "redis-evicts" }).catch(() => undefined);
      const started = await until("the Redis runs", async () => {
        const lines = (await (await fetch(`${shop.url}/playground/api/events.jsonl`)).text()).trim().split("\n");
        const events = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as LoggedEvent);
        return events.find(({ what }) => what === "redis-start");
      });
      expect(isAlive(started.pid)).toBe(true);
      shop.kill("SIGKILL");
      await shop.exited;
      await allGone([started.pid]);
      await cutOff;
    },
  );
});

describe("the playground's schemas in a PostgreSQL", () => {
  it("of a shop that was killed are dropped by the next to start, those of one that lives are not", async () => {
    const database = await freshDatabase(await postgresUrl());
    onTestFinished(() => database.drop());
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    onTestFinished(() => client.end());
    const schemas = async (): Promise<readonly string[]> => {
      const text = "SELECT nspname FROM pg_namespace WHERE nspname ~ '^playground_' ORDER BY 1";
      return (await client.query<{ nspname: string }>(text)).rows.map(({ nspname }) => nspname);
    };
    // Of that name, but somebody else's.
    const foreign = "playground_0123456789ab_protected";
    await client.query(`CREATE SCHEMA ${foreign}`);
    const startUsed = async (): Promise<Shop> => {
      const shop = await shopWith({ PLAYGROUND_DATABASE_URL: database.url });
      await call<StateView>(shop.url, "start", {});
      return shop;
    };
    const killed = await startUsed();
    const left = (await schemas()).filter((name) => name !== foreign);
    expect(left).toHaveLength(2);
    killed.kill("SIGKILL");
    await killed.exited;
    const living = await startUsed();
    const after = await schemas();
    expect(after).toHaveLength(3);
    expect(after).toContain(foreign);
    expect(after.filter((name) => left.includes(name))).toEqual([]);
    const another = await startUsed();
    expect(await schemas()).toEqual(expect.arrayContaining([...after]));
    for (const shop of [living, another]) {
      shop.kill("SIGTERM");
      expect(await shop.exited).toEqual({ code: 0, signal: null });
    }
    expect(await schemas()).toEqual([foreign]);
    // Three shops start one after the other: on a machine at its limit that takes long.
  }, 240_000);
});

interface Asking {
  readonly path?: string;
  readonly host?: string;
  readonly origin?: string;
  readonly site?: string;
  readonly type?: string;
}

/** `fetch` does not let anybody choose Host. */
function ask({ url }: Pick<Shop, "url">, asking: Asking): Promise<number> {
  const { host, origin, site, type = "application/json", path = "/playground/api/runs" } = asking;
  const { hostname, port, host: own } = new URL(url);
  return new Promise((resolve, reject) => {
    request(
      {
        hostname: hostname === "0.0.0.0" ? "127.0.0.1" : hostname,
        port,
        path,
        method: "POST",
        headers: {
          host: host ?? own,
          "content-type": type,
          ...(origin === undefined ? {} : { origin }),
          ...(site === undefined ? {} : { "sec-fetch-site": site }),
        },
      },
      (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      },
    )
      .on("error", reject)
      .end("{}");
  });
}

/** It got through to the check of the body. */
const LET_IN = 400;

describe("the playground's controls", () => {
  it("take requests of their own page and of no page, not of others", async () => {
    const shop = await shopWith();
    const { host, port } = new URL(shop.url);
    expect(await ask(shop, {})).toBe(LET_IN);
    expect(await ask(shop, { origin: shop.url, site: "same-origin" })).toBe(LET_IN);
    expect(await ask(shop, { host: `localhost:${port}`, origin: `http://localhost:${port}` })).toBe(LET_IN);
    expect(await ask(shop, { origin: "http://evil.example" })).toBe(403);
    expect(await ask(shop, { origin: "null" })).toBe(403);
    expect(await ask(shop, { origin: `http://localhost:${port}` })).toBe(403);
    expect(await ask(shop, { site: "cross-site" })).toBe(403);
    expect(await ask(shop, { site: "same-site" })).toBe(403);
    expect(await ask(shop, { host: `evil.example:${port}` })).toBe(403);
    expect(await ask(shop, { host: `127.0.0.1.evil.example:${port}` })).toBe(403);
    expect(await ask(shop, { host: "127.0.0.1:1" })).toBe(403);
    expect(await ask(shop, { type: "text/plain", origin: shop.url })).toBe(415);
    expect(host).toContain(port);
    // Also what only looks is kept from a name that was pointed at this machine.
    expect((await call<StateView>(shop.url, "state")).started).toBe(false);
  });

  it("of a lane and of the bank take no request of a page from elsewhere either", async () => {
    const { shop } = await used();
    const { processes } = await call<StateView>(shop.url, "state");
    for (const [name, path, letIn] of [
      ["protected", "/sweep", 200],
      ["bank", "/faults", LET_IN],
    ] as const) {
      const at = processes.find((each) => each.name === name) ?? { url: "" };
      const asked = (asking: Asking): Promise<number> => ask(at, { ...asking, path });
      const { port } = new URL(at.url);
      expect([name, await asked({})]).toEqual([name, letIn]);
      expect([name, await asked({ origin: at.url, site: "same-origin" })]).toEqual([name, letIn]);
      expect([name, await asked({ origin: "http://evil.example" })]).toEqual([name, 403]);
      expect([name, await asked({ origin: shop.url })]).toEqual([name, 403]);
      expect([name, await asked({ site: "cross-site" })]).toEqual([name, 403]);
      expect([name, await asked({ host: `evil.example:${port}` })]).toEqual([name, 403]);
    }
  });

  it("answer 403 off loopback, but for the hosts that PLAYGROUND_HOSTS names", async () => {
    const open = await shopWith({ HOST: "0.0.0.0" });
    const { port } = new URL(open.url);
    expect(await ask(open, { host: `127.0.0.1:${port}` })).toBe(403);
    const named = await shopWith({ HOST: "0.0.0.0", PLAYGROUND_HOSTS: "shop.example" });
    expect(await ask(named, { host: "shop.example" })).toBe(LET_IN);
    expect(await ask(named, { host: "shop.example", origin: "http://evil.example" })).toBe(403);
  });
});
