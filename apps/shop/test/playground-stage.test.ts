/** One at a time on the lanes and the bank that all share, and what is left armed strikes nobody else. */
import { memoryStorage } from "ichido/client";
import { beforeAll, describe, expect, it } from "vitest";
import { call } from "../playground-faults/drive.ts";
import { pay, type Cart } from "../src/playground/buyer.ts";
import { lanes, type BankMode, type LimitName, type RunView, type StateView } from "../src/playground/contract.ts";
import type { LimitView } from "../src/playground/limits.ts";
import type { StormView } from "../src/playground/storm-view.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { startShop, type Shop } from "./support/shop.ts";

const mix = { kill: 0, cutAfterAnswer: 0, cutBeforeArrival: 0, doubleClick: 0 };

describe("on the playground's lanes and its bank", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder() });
    await call(shop.url, "start", {});
  });
  const newRun = (fault: string): Promise<Cart> => call<Cart>(shop.url, "runs", { fault });
  const storm = (payments: number, bankMode: BankMode): Promise<StormView> =>
    call<StormView>(shop.url, "storm", { payments, concurrency: 1, seed: 1, bankMode, mix });
  const limit = (name: LimitName): Promise<LimitView> => call<LimitView>(shop.url, "limits", { limit: name });
  const settled = async (mode: BankMode): Promise<void> => {
    await until("nobody is on them", () =>
      call(shop.url, "bank", { mode }).then(
        () => true,
        () => false,
      ),
    );
  };
  const refused = (what: RegExp) =>
    Promise.all(
      [
        () => storm(1, "slow"),
        () => limit("key-per-click"),
        () => call(shop.url, "sweep", {}),
        () => call(shop.url, "drills", { incident: "two-keys" }),
        () => newRun("none"),
        () => newRun("kill-after-charge"),
        () => call(shop.url, "bank", { mode: "slow" }),
      ].map((each) => expect(each()).rejects.toThrow(what)),
    );

  it("nothing else begins during a limit, and the bank is afterwards as it was set", async () => {
    await call(shop.url, "bank", { mode: "ignores-references" });
    const playing = limit("short-retention");
    await until("the limit has begun", () =>
      newRun("none").then(
        () => false,
        () => true,
      ),
    );
    await refused(/400.*a limit is under way/);
    const { broken, mended } = await playing;
    expect([broken.charges.length, mended.charges.length]).toEqual([2, 1]);
    const { bankMode, processes } = await call<StateView>(shop.url, "state");
    expect(bankMode).toBe("ignores-references");
    const { url } = processes.find(({ name }) => name === "bank") ?? { url: "" };
    const order = { reference: "twice", amount: 1, currency: "EUR" };
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(order) };
    const statuses = [(await fetch(`${url}/charges`, init)).status, (await fetch(`${url}/charges`, init)).status];
    expect(statuses).toEqual([201, 201]);
    await call(shop.url, "bank", { mode: "dedupes" });
  });

  it("nothing else begins during a storm, a drill or a payment under a fault", async () => {
    await storm(1, "slow");
    await refused(/400.*a storm is under way/);
    await settled("dedupes");
    const drilling = call(shop.url, "drills", { incident: "bought-twice" });
    await until("the drill has begun", () =>
      newRun("none").then(
        () => false,
        () => true,
      ),
    );
    await refused(/400.*a drill is under way/);
    await drilling;
    const { run } = await newRun("kill-after-charge");
    await call(shop.url, `runs/${run}/arm`, { lane: "protected" });
    await refused(/400.*a payment under .*kill-after-charge.* is under way/);
    await call(shop.url, `runs/${run}/disarm`, { lane: "protected" });
    await settled("dedupes");
  });

  it("a fault that nobody paid under, because its page was closed, is taken back for whoever pays next", async () => {
    const left = await newRun("kill-after-charge");
    for (const lane of lanes) await call(shop.url, `runs/${left.run}/arm`, { lane });
    const cart = await until("the fault counts as abandoned", () => newRun("none").catch(() => undefined));
    const { processes } = await call<StateView>(shop.url, "state");
    const { run, orderId, amount, currency } = cart;
    for (const lane of lanes) {
      const baseUrl = processes.find(({ name }) => name === lane)?.proxyUrl ?? "";
      const parts = { baseUrl, storage: memoryStorage() };
      expect((await pay(lane, { run, orderId, amount, currency }, parts)).paid).toBe(true);
    }
    const { lanes: counted } = await call<RunView>(shop.url, `runs/${run}`);
    expect(lanes.map((lane) => [counted[lane].bankCharges.length, counted[lane].supervisorRestarts])).toEqual([
      [1, 0],
      [1, 0],
    ]);
    const { events } = await call<RunView>(shop.url, `runs/${left.run}`);
    expect(events.map(({ what }) => what)).toEqual(["armed", "armed", "disarmed", "disarmed"]);
    // The page that comes back late changes nothing of what others do.
    await call(shop.url, `runs/${left.run}/disarm`, { lane: "protected" });
  });
});
