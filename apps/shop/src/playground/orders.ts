/** What became of a paid order: mails and stock, counted in the database of each lane. */
import type { LaneName, LoggedEvent } from "./contract.ts";
import { lanes } from "./contract.ts";
import { PRODUCT } from "./lane/pay-order.ts";
import type { World } from "./playground.ts";
import type { Run } from "./runs.ts";

export interface OrderCounts {
  readonly mails: number;
  readonly deliveries: number;
  /** What is left of the product, whatever order took it. */
  readonly stock: number;
  readonly askMails: string;
  readonly askStock: string;
}

export interface OrderView {
  readonly run: string;
  readonly orderId: string;
  readonly lanes: Readonly<Record<LaneName, OrderCounts>>;
  readonly events: readonly LoggedEvent[];
}

export async function orderViewOf(world: World, { run, orderId }: Run): Promise<OrderView> {
  const events = world.log.of(run);
  const counted = lanes.map(async (lane) => [lane, await countsOf(world, lane, orderId, events)] as const);
  const byLane = Object.fromEntries(await Promise.all(counted)) as Record<LaneName, OrderCounts>;
  return { run, orderId, lanes: byLane, events };
}

async function countsOf(
  { data }: World,
  lane: LaneName,
  orderId: string,
  events: readonly LoggedEvent[],
): Promise<OrderCounts> {
  const mails = "SELECT count(*) AS total FROM notifications WHERE order_id = ?";
  const stock = "SELECT quantity AS total FROM stock WHERE product_id = ?";
  const shown = (text: string, value: string): string => data.ask(lane, text.replace("?", `'${value}'`));
  return {
    mails: await data.count(lane, mails, orderId),
    deliveries: events.filter((event) => event.lane === lane && event.what === "delivery").length,
    stock: await data.count(lane, stock, PRODUCT),
    askMails: shown(mails, orderId),
    askStock: shown(stock, PRODUCT),
  };
}
