/** Failures that belong to the way from the relay into a broker, on real ones. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connect, type ChannelModel, type ConfirmChannel } from "amqplib";
import { createRelay, type Outbox, type Publisher } from "ichido/outbox";
import { ensureRabbitmqTopology, rabbitmqPublisher } from "ichido/rabbitmq";
import { webhookPublisher } from "ichido/webhook";
import { expect, onTestFinished, test } from "vitest";
import { openSide } from "../effects/sides.ts";
import { describeWith, freshDatabase, uniqueName } from "../support/services.ts";
import type { Database } from "./inbox-databases.ts";
import { openOutbox } from "./outbox-bed.ts";

async function outboxOn(server: string): Promise<Outbox> {
  const database = await freshDatabase(server);
  const side = openSide("postgres", database.url);
  onTestFinished(async () => {
    await side.close();
    await database.drop();
  });
  return openOutbox({ side: () => side } as unknown as Database, {
    topics: { "*": { to: "wire", order: "key", attemptsMax: 2, onDead: "skip" } },
  });
}

async function add(outbox: Outbox, ...ids: readonly (readonly [topic: string, id: string])[]): Promise<void> {
  await outbox.transaction(async (_tx, handle) => {
    for (const [topic, id] of ids)
      await outbox.add(handle, { topic, key: id, id, payload: { id }, headers: { own: id } });
  });
}

/** Until nothing waits; a refused event comes again after its pause. */
async function drain(outbox: Outbox, publisher: Publisher): Promise<void> {
  const relay = createRelay(outbox, {
    routes: { wire: publisher },
    backoffMs: 1,
    backoffMsMax: 1,
    pauseMs: 1,
    pauseMsMax: 1,
  });
  for (let ticks = 0; ticks < 50 && (await outbox.stats()).pending > 0; ticks += 1) {
    await relay.tick();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await relay.stop();
  await publisher.close();
}

describeWith(["postgres", "rabbitmq"], "failure table, RabbitMQ", (server, broker) => {
  async function exchange(topics: readonly string[]) {
    const name = uniqueName("table");
    const link = (): Promise<ChannelModel> => connect(broker);
    await ensureRabbitmqTopology({ connect: link, exchange: name, queue: name, order: "none", topics });
    const connection = await link();
    const channel = await connection.createChannel();
    onTestFinished(async () => {
      for (const queue of [name, `${name}.expired`]) await channel.deleteQueue(queue);
      await channel.deleteExchange(name);
      await connection.close();
    });
    return {
      name,
      link,
      taken: async (): Promise<string[]> => {
        const ids: string[] = [];
        for (;;) {
          const message = await channel.get(name, { noAck: true });
          if (message === false) return ids.toSorted();
          ids.push(String(message.properties.messageId));
        }
      },
    };
  }

  test("W3 back-pressure on every second call: the relay waits for the drain, and each event is sent once", async () => {
    const outbox = await outboxOn(server);
    const { name, link, taken } = await exchange(["*"]);
    const ids = Array.from({ length: 10 }, (_, index) => `e${index}`);
    let calls = 0;
    /** The channel takes the event, says that its buffer is full, and drains a moment later. */
    const pressed = (channel: ConfirmChannel): ConfirmChannel => {
      const publish = channel.publish.bind(channel);
      channel.publish = (...args) => {
        publish(...args);
        calls += 1;
        if (calls % 2 === 1) return true;
        setTimeout(() => channel.emit("drain"), 5);
        return false;
      };
      return channel;
    };
    const publisher = rabbitmqPublisher({
      exchange: name,
      connect: async () => {
        const connection = await link();
        const create = connection.createConfirmChannel.bind(connection);
        connection.createConfirmChannel = async () => pressed(await create());
        return connection;
      },
    });
    await add(outbox, ...ids.map((id) => ["order.paid", id] as const));
    await drain(outbox, publisher);
    expect(calls).toBe(10);
    expect(await taken()).toEqual(ids);
  });

  test("W24 W27 of one transaction, an event that no queue takes becomes a dead letter alone; the others arrive", async () => {
    const outbox = await outboxOn(server);
    const { name, link, taken } = await exchange(["order.*"]);
    await add(outbox, ["order.paid", "one"], ["nobody.wants", "lost"], ["order.paid", "two"]);
    await drain(outbox, rabbitmqPublisher({ connect: link, exchange: name }));
    expect(await taken()).toEqual(["one", "two"]);
    expect((await outbox.dead.list()).letters).toMatchObject([
      { message: { id: "lost" }, reason: "rejected", attempts: 2, error: expect.stringContaining("no queue") },
    ]);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 1 });
  });
});

describeWith("postgres", "failure table, webhooks", (server) => {
  test("W26 one event that the receiver answers with 400 is a dead letter alone; the others arrive with headers of their own", async () => {
    const outbox = await outboxOn(server);
    const got: (readonly [id: string, own: unknown])[] = [];
    const receiver = createServer((request, response) => {
      request.resume().on("end", () => {
        const id = String(request.headers["webhook-id"]);
        if (id === "bad") return void response.writeHead(400).end();
        got.push([id, request.headers["own"]]);
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => {
      receiver.closeAllConnections();
      receiver.close();
    });
    const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    await add(outbox, ...["a", "b", "bad", "c", "d"].map((id) => ["order.paid", id] as const));
    await drain(outbox, webhookPublisher({ endpoint: url, secret: "whsec_c3Rvcm0gc3Rvcm0gc3Rvcm0gc3Rvcm0gc3Rvcm0=" }));
    expect(Object.fromEntries(got)).toEqual({ a: "a", b: "b", c: "c", d: "d" });
    expect(got).toHaveLength(4);
    expect((await outbox.dead.list()).letters).toMatchObject([
      { message: { id: "bad" }, reason: "rejected", attempts: 2 },
    ]);
    expect(await outbox.stats()).toMatchObject({ pending: 0, dead: 1 });
  });
});
