/** An event that somebody sends again by hand, through each broker, changes nothing. Names as in the shop's README. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect as connectNats, headers as natsHeaders } from "@nats-io/transport-node";
import { connect as connectAmqp } from "amqplib";
import { createClient } from "redis";
import { describe, expect, it } from "vitest";
import { amqpUrl, natsUrl, redisUrl } from "../../../test/support/services.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { settingsOf } from "./support/setups.ts";
import { send, startBank, startShop, type Shop } from "./support/shop.ts";

const productId = "prod-789";

async function paidOrder(shop: Shop): Promise<string> {
  const orderId = `order-${randomUUID()}`;
  await send(`${shop.url}/orders/${orderId}`, { method: "PUT", body: { productId, quantity: 2 } });
  const paid = await send(`${shop.url}/orders/${orderId}/pay`, { key: randomUUID(), body: { amount: 24_000 } });
  expect(paid.status, paid.text).toBe(200);
  return orderId;
}

async function eventIds(shop: Shop, orderId: string): Promise<readonly string[]> {
  const { body } = await send(`${shop.url}/notifications?orderId=${orderId}`);
  return (body["notifications"] as readonly { eventId: string }[]).map(({ eventId }) => eventId);
}

const stock = async (shop: Shop): Promise<number> =>
  Number((await send(`${shop.url}/products/${productId}`)).body["stock"]);

/** Prepares to see events; gives a function that sends the one with this id again. */
type Listen = (url: string) => Promise<{ again(eventId: string): Promise<void>; close(): Promise<void> }>;

const overNats: Listen = async (url) => {
  const connection = await connectNats({ servers: url });
  const manager = await jetstreamManager(connection);
  return {
    async again(eventId) {
      const { state } = await manager.streams.info("shop");
      for (let seq = state.last_seq; seq >= state.first_seq; seq -= 1) {
        const stored = await manager.streams.getMessage("shop", { seq }).catch(() => null);
        if (stored === null || stored.header.get("ce-id") !== eventId) continue;
        const copied = natsHeaders();
        // Without the server's own dedup id, or it would never reach the consumers.
        for (const [name, values] of stored.header)
          if (name.toLowerCase() !== "nats-msg-id") for (const value of values) copied.append(name, value);
        await jetstream(connection).publish(stored.subject, stored.data, { headers: copied });
        return;
      }
      throw new Error(`the stream has no event ${eventId}`);
    },
    close: () => connection.close(),
  };
};

const overRabbitmq: Listen = async (url) => {
  const connection = await connectAmqp(url);
  const channel = await connection.createConfirmChannel();
  const { queue } = await channel.assertQueue("", { exclusive: true });
  await channel.bindQueue(queue, "shop", "#");
  return {
    async again(eventId) {
      for (let message = await channel.get(queue); message !== false; message = await channel.get(queue)) {
        channel.ack(message);
        if (message.properties.messageId !== eventId) continue;
        channel.publish("shop", message.fields.routingKey, message.content, message.properties as object);
        await channel.waitForConfirms();
        return;
      }
      throw new Error(`the exchange has not seen event ${eventId}`);
    },
    close: () => connection.close(),
  };
};

const overRedis: Listen = async (url) => {
  const client = createClient({ url });
  await client.connect();
  return {
    async again(eventId) {
      for await (const keys of client.scanIterator({ MATCH: "shop:events*", TYPE: "stream" })) {
        for (const key of keys) {
          for (const entry of (await client.xRange(key, "-", "+")) ?? []) {
            if (entry?.message["headers"]?.includes(eventId) !== true) continue;
            await client.xAdd(key, "*", entry.message);
            return;
          }
        }
      }
      throw new Error(`no stream holds event ${eventId}`);
    },
    close: async () => client.destroy(),
  };
};

describe.each([
  { name: "NATS", url: natsUrl, listen: overNats },
  { name: "RabbitMQ", url: amqpUrl, listen: overRabbitmq },
  { name: "Redis Streams", url: redisUrl, listen: overRedis },
])("an event sent again by hand through $name", ({ url, listen }) => {
  it("neither notifies nor takes from stock a second time", async () => {
    const bank = await startBank({ BANK_DATA: join(newFolder(), "bank.db") });
    const BROKER_URL = await url();
    const shop = await startShop({ ...(await settingsOf("PostgreSQL")), GATEWAY_URL: bank.url, BROKER_URL });
    const hand = await listen(BROKER_URL);
    const before = await stock(shop);
    const orderId = await paidOrder(shop);
    await until("the effects are there", async () => (await stock(shop)) === before - 2);
    const [eventId = "", ...others] = await eventIds(shop, orderId);
    expect(others).toEqual([]);
    for (let times = 0; times < 3; times += 1) await hand.again(eventId);
    // Over all partitions, so also behind the copies.
    const later = await Promise.all(Array.from({ length: 12 }, () => paidOrder(shop)));
    await until("later events are through", async () => (await stock(shop)) <= before - 2 - 24);
    for (const id of later) expect(await eventIds(shop, id)).toHaveLength(1);
    expect(await eventIds(shop, orderId)).toEqual([eventId]);
    expect(await stock(shop)).toBe(before - 2 - 24);
    await hand.close();
  });
});
