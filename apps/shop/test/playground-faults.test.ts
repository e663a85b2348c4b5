import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { freshDatabase, postgresUrl } from "../../../test/support/services.ts";
import { call, driveFault } from "../playground-faults/drive.ts";
import { memoryStorage } from "ichido/client";
import { pay, type Cart } from "../src/playground/buyer.ts";
import { lanes, type LaneName, type RunView, type StateView } from "../src/playground/contract.ts";
import { deck } from "../src/playground/deck.ts";
import { hasOwnPostgres } from "../src/playground/own-postgres.ts";
import { isAlive, newFolder } from "./support/program.ts";
import { until } from "./support/poll.ts";
import { send, startShop, type Shop } from "./support/shop.ts";

const faults = (Object.keys(deck) as (keyof typeof deck)[]).filter((fault) => deck[fault].mechanism.by !== "database");

/** The buyer left when the money had moved, before the lane answered. */
const LEFT_UNANSWERED = ["arrived", "left", "unheard"];

function firstRequest({ events }: RunView, lane: LaneName): readonly string[] {
  const ofLane = events.filter((event) => event.who === "proxy" && event.lane === lane);
  return ofLane
    .map(({ what }) => what)
    .slice(0, 2)
    .concat(ofLane.filter(({ what }) => what === "unheard").map(({ what }) => what));
}

describe("the faults of the deck, counted in the ledger of the playground's bank", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder() });
    await call<StateView>(shop.url, "start", {});
  });

  it.each(faults)("%s: each lane is charged as often as the page says", async (fault) => {
    const { view, said } = await driveFault(shop.url, fault);
    const charges = Object.fromEntries(lanes.map((lane) => [lane, view.lanes[lane].bankCharges.length]));
    expect(charges).toEqual(deck[fault].expected);
    expect(said.every(({ paid }) => paid)).toBe(true);
    // What is counted elsewhere agrees: a row for every charge, and a restart for every kill.
    const killed = deck[fault].mechanism.by === "supervisor" ? 1 : 0;
    for (const lane of lanes) {
      const { databaseRows, supervisorRestarts, proxyArrivals } = view.lanes[lane];
      expect(databaseRows).toBe(charges[lane]);
      expect(supervisorRestarts).toBe(killed);
      expect(proxyArrivals).toBeGreaterThanOrEqual(charges[lane] ?? 0);
    }
    if (fault === "reload") for (const lane of lanes) expect(firstRequest(view, lane)).toEqual(LEFT_UNANSWERED);
    // A socket that the proxy destroyed gave it no error to observe.
    expect(view.events.filter(({ what, errno }) => what === "cut" && errno !== undefined)).toEqual([]);
  });

  it("a kill is a signal that the system reports, and the lane comes back under another process id", async () => {
    const { view } = await driveFault(shop.url, "kill-after-charge");
    for (const lane of lanes) {
      const told = view.events.filter((event) => event.lane === lane && event.who === "supervisor");
      expect(told.map(({ what }) => what)).toEqual(["armed", "kill", "exit", "start"]);
      const [, kill, exit, start] = told;
      expect(exit).toMatchObject({ signal: "SIGKILL", pid: kill?.pid });
      expect(start?.pid).not.toBe(exit?.pid);
      expect(start?.tookMs).toBeGreaterThan(0);
    }
    // Behind a mark is what went over the wire, and the row as it was then.
    const ofKept = view.events.filter(({ lane }) => lane === "protected");
    const rawOf = (what: string) => ofKept.filter((event) => event.what === what).map(({ raw }) => raw);
    expect(rawOf("arrived")[0]).toMatchObject({
      kind: "wire",
      text: expect.stringMatching(/^POST \/payments HTTP\/1\.1\r\n[^]*idempotency-key: [^]*\r\n\r\n\{"orderId"/i),
    });
    expect(rawOf("answered").at(-1)).toMatchObject({
      text: expect.stringMatching(/^HTTP\/1\.1 201 [^]*"status":"paid"/),
    });
    const states = ["claim", "complete"].flatMap(rawOf).map((raw) => raw?.kind === "row" && raw.row["state"]);
    expect([states[0], states.at(-1)]).toEqual(["processing", "completed"]);
    expect(rawOf("row-settled").at(-1)).toMatchObject({ table: "payments", row: { charge_id: expect.any(String) } });
    expect(rawOf("charged")[0]).toMatchObject({ table: "ledger", row: { amount: 4_200 } });
    expect(view.events.find(({ what }) => what === "asked-bank")).toMatchObject({ detail: "captured" });
  });

  it("a lane that somebody kills by hand in mid-payment is a restart of that payment", async () => {
    await call(shop.url, "bank", { mode: "slow" });
    onTestFinished(() => call(shop.url, "bank", { mode: "dedupes" }));
    const cart = await call<Cart>(shop.url, "runs", { fault: "none" });
    const view = () => call<RunView>(shop.url, `runs/${cart.run}`);
    for (const lane of lanes) {
      const processOf = async () =>
        (await call<StateView>(shop.url, "state")).processes.find(({ name }) => name === lane);
      const { pid = 0, proxyUrl: baseUrl = "" } = (await processOf()) ?? {};
      const { run, orderId, amount, currency } = cart;
      const paying = pay(lane, { run, orderId, amount, currency }, { baseUrl, storage: memoryStorage() });
      await until("the bank is asked", async () =>
        (await view()).events.some((event) => event.lane === lane && event.what === "charge"),
      );
      process.kill(pid, "SIGKILL");
      expect((await paying).paid).toBe(true);
      expect((await view()).lanes[lane].supervisorRestarts).toBe(1);
      const told = (await view()).events.filter((event) => event.lane === lane && event.who === "supervisor");
      expect(told.map(({ what, pid: whose, signal }) => [what, whose === pid, signal])).toEqual([
        ["exit", true, "SIGKILL"],
        ["start", false, undefined],
      ]);
    }
  });

  it("a bank that is killed comes back as it was set, and its restarts are counted", async () => {
    const own = await startShop({ SHOP_DATA: newFolder() });
    const bankOf = async () => {
      const { bankMode, processes } = await call<StateView>(own.url, "state");
      const found = processes.find(({ name }) => name === "bank");
      return { bankMode, pid: 0, url: "", restarts: -1, ...found };
    };
    await call<StateView>(own.url, "start", {});
    await call(own.url, "bank", { mode: "ignores-references" });
    const { pid, url, restarts } = await bankOf();
    expect(restarts).toBe(0);
    process.kill(pid, "SIGKILL");
    const back = await until("the bank is back", async () => {
      const now = await bankOf();
      return now.pid !== pid && (await fetch(`${url}/ledger`).catch(() => undefined))?.ok === true && now;
    });
    expect(back).toMatchObject({ url, restarts: 1, bankMode: "ignores-references", lastRestartMs: expect.any(Number) });
    const order = { reference: "payment-1", amount: 4_200, currency: "EUR" };
    const charge = () => send(`${url}/charges`, { body: order });
    expect([(await charge()).status, (await charge()).status]).toEqual([201, 201]);
  });

  it("a fault that needs a database server is had with one: the lane's own connections are ended", async () => {
    const database = await freshDatabase(await postgresUrl());
    onTestFinished(() => database.drop());
    const onServer = await startShop({ SHOP_DATA: newFolder(), PLAYGROUND_DATABASE_URL: database.url });
    await call<StateView>(onServer.url, "start", {});
    const { view, said } = await driveFault(onServer.url, "kill-database-connection");
    const ended = view.events.filter(({ what }) => what === "kill-connections");
    expect(ended.map(({ lane, detail }) => [lane, Number(/(\d+) conn/.exec(detail ?? "")?.[1]) > 0])).toEqual(
      lanes.map((lane) => [lane, true]),
    );
    expect(lanes.map((lane) => view.lanes[lane].bankCharges.length)).toEqual([2, 1]);
    expect(said.every(({ paid }) => paid)).toBe(true);
    onServer.kill("SIGTERM");
    expect(await onServer.exited).toEqual({ code: 0, signal: null });
  });

  it.skipIf(!hasOwnPostgres())(
    "a fault that needs a database server is had with the PostgreSQL that npm installed, started on first use (needs it)",
    async () => {
      const own = await startShop({ SHOP_DATA: newFolder(), PLAYGROUND_STORE: "postgres" });
      const nameOf = ({ processes }: StateView) => processes.map(({ name }) => name);
      const before = await call<StateView>(own.url, "state");
      expect(nameOf(before)).toEqual([]);
      const state = await call<StateView>(own.url, "start", {});
      expect(nameOf(state)).toEqual(["bank", "unprotected", "protected", "database"]);
      for (const { deck: faultsOf } of [before, state]) {
        expect(faultsOf.filter(({ unavailable }) => unavailable !== undefined)).toEqual([]);
      }
      const { view, said } = await driveFault(own.url, "kill-database-connection");
      expect(lanes.map((lane) => view.lanes[lane].bankCharges.length)).toEqual([2, 1]);
      expect(lanes.map((lane) => view.lanes[lane].databaseRows)).toEqual([2, 1]);
      expect(said.every(({ paid }) => paid)).toBe(true);
      const { url = "", pid = 0 } = state.processes.find(({ name }) => name === "database") ?? {};
      const { ask = "" } = state.processes.find(({ name }) => name === "protected") ?? {};
      expect(ask).toContain(`psql "${url}" -c "SET search_path`);
      own.kill("SIGTERM");
      expect(await own.exited).toEqual({ code: 0, signal: null });
      // Its keeper ends it once the shop has gone.
      await until("its server has ended", () => !isAlive(pid));
    },
    180_000,
  );

  it("where the PostgreSQL that npm installed does not start, rows are in files, and the reason is told", async () => {
    // Nowhere to put its data.
    const own = await startShop({ SHOP_DATA: newFolder(), PLAYGROUND_STORE: "postgres", TMPDIR: "/nowhere" });
    const { deck: faultsOf, processes } = await call<StateView>(own.url, "start", {});
    expect(processes.map(({ name }) => name)).toEqual(["bank", "unprotected", "protected"]);
    const why = faultsOf.find(({ fault }) => fault === "kill-database-connection")?.unavailable;
    expect(why).toMatch(
      hasOwnPostgres()
        ? /SQLite is a file.*did not start \(.*\/nowhere.*\)/
        : /SQLite is a file.*npm has not installed/,
    );
    const { view } = await driveFault(own.url, "double-click");
    expect(lanes.map((lane) => view.lanes[lane].bankCharges.length)).toEqual([2, 1]);
  });

  it("a fault that needs a database server is refused with the reason", async () => {
    await expect(call(shop.url, "runs", { fault: "kill-database-connection" })).rejects.toThrow(
      /400.*SQLite is a file.*PLAYGROUND_DATABASE_URL/,
    );
  });
});
