import { beforeAll, describe, expect, it } from "vitest";
import { call } from "../playground-faults/drive.ts";
import { lanes, type FaultName, type LaneName } from "../src/playground/contract.ts";
import type { OrderView } from "../src/playground/orders.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { send, startShop, type Shop } from "./support/shop.ts";

describe("an order that is paid in both lanes, and its event", () => {
  let shop: Shop;
  beforeAll(async () => {
    shop = await startShop({ SHOP_DATA: newFolder() });
    await call(shop.url, "start", {});
  });

  const newOrder = (fault: FaultName) => call<{ run: string; orderId: string }>(shop.url, "runs", { fault });
  const at = (run: string, lane: LaneName, path: string, body: object) =>
    send(`${shop.url}/playground/lanes/${lane}/orders/${path}`, { body, headers: { "playground-run": run } });
  const viewOf = (run: string) => call<OrderView>(shop.url, `runs/${run}/order`);
  const stockOf = ({ lanes: { unprotected, protected: kept } }: OrderView) => [unprotected.stock, kept.stock];

  it("delivered five times more: the naive lane mails six times, the other one once; stock likewise", async () => {
    const { run, orderId } = await newOrder("none");
    const before = stockOf(await viewOf(run));
    for (const lane of lanes) expect(await at(run, lane, `${orderId}/pay`, {})).toMatchObject({ status: 200 });
    await until("both have mailed", async () => (await viewOf(run)).lanes.protected.mails === 1);
    for (const lane of lanes) {
      expect(await at(run, lane, `${orderId}/deliveries`, { times: 5 })).toMatchObject({ status: 200 });
    }
    const view = await viewOf(run);
    expect(view.lanes).toMatchObject({
      unprotected: { mails: 6, deliveries: 5 },
      protected: { mails: 1, deliveries: 5 },
    });
    expect(stockOf(view)).toEqual([Number(before[0]) - 6, Number(before[1]) - 1]);
  });

  it("killed after the commit: the naive lane never mails, the outbox brings the event after the restart", async () => {
    const { run, orderId } = await newOrder("kill-after-commit");
    for (const lane of lanes) {
      await call(shop.url, `runs/${run}/arm`, { lane });
      await expect(at(run, lane, `${orderId}/pay`, {})).rejects.toThrow();
      const retried = await until("the lane is back", () => at(run, lane, `${orderId}/pay`, {}).catch(() => undefined));
      expect(retried.body).toMatchObject({ status: "already-paid" });
    }
    await until("the relay has sent it", async () => (await viewOf(run)).lanes.protected.mails === 1);
    expect((await viewOf(run)).lanes).toMatchObject({ unprotected: { mails: 0 }, protected: { mails: 1 } });
  });
});
