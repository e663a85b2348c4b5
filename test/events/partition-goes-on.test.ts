/** Neither a topic that nobody wants nor a key that fails holds up the other keys of its partition, on real brokers. */
import { DatabaseSync } from "node:sqlite";
import { createConsumer, createInbox } from "ichido/inbox";
import { nodeSqliteTransactions } from "ichido/transactions";
import { expect, onTestFinished, test } from "vitest";
import { partitionOf } from "../../packages/ichido/src/brokers/partition.ts";
import { eventually } from "../support/eventually.ts";
import { describeWith } from "../support/services.ts";
import { eventOf, openRig, type BrokerUnderTest } from "./broker-rig.ts";
import { openNatsRig, startNats } from "./nats-rig.ts";
import { openRabbitmqRig, startRabbitmq } from "./rabbitmq-rig.ts";
import { redisUnderTest } from "./redis-streams-rig.ts";
import { drivers } from "../stores/redis-clients.ts";
import { dayMs } from "./inbox-messages.ts";

const partitions = 8;
/** All of one partition. */
const [unwanted = "", failing = "", ...others] = Array.from({ length: 200 }, (_, index) => `key-${index}`)
  .filter((key) => partitionOf(key, partitions) === 3)
  .slice(0, 8);

function goesOn(broker: BrokerUnderTest): void {
  test(`${broker.name}: the other keys of the partition are processed, and the failing one afterwards, in order`, async () => {
    const rig = await openRig(broker);
    const publisher = await rig.publisher();
    onTestFinished(() => publisher.close());
    const database = new DatabaseSync(":memory:");
    onTestFinished(() => database.close());
    const inbox = createInbox({ transactions: nodeSqliteTransactions(database), retentionMs: 30 * dayMs });
    await inbox.migrate();
    const ran: (string | undefined)[] = [];
    let broken = true;
    const consumer = createConsumer({
      subscription: await rig.subscription({ order: "key" }),
      inbox,
      handlers: [
        {
          name: "orders",
          topics: ["order.paid"],
          once: (_tx, { message: { key, id } }) => {
            if (broken && key === failing) throw new Error("not yet");
            ran.push(key === failing ? id : key);
          },
        },
      ],
      attemptsMax: 1_000_000,
      parkAfterMs: 50,
      backoffMs: 20,
      backoffMsMax: 100,
      replayMs: 100,
    });
    const failed = [eventOf({ key: failing }), eventOf({ key: failing })];
    const events = [
      eventOf({ key: unwanted, topic: "order.cancelled" }),
      ...failed,
      ...others.map((key) => eventOf({ key })),
    ];
    for (const event of events) expect(await publisher.publish(event)).toEqual({ outcome: "sent" });
    await consumer.start();
    onTestFinished(() => consumer.stop());
    await eventually(() => expect(ran).toEqual(others), 30_000);
    expect((await inbox.dead.list()).letters).toMatchObject([{ handler: "(unhandled)", reason: "unhandled" }]);
    broken = false;
    await eventually(() => expect(ran).toEqual([...others, ...failed.map(({ id }) => id)]), 30_000);
  }, 90_000);
}

describeWith("nats", "a partition of NATS goes on", (url) => {
  goesOn({ name: "nats", dedups: true, url, open: openNatsRig, startServer: startNats });
});
describeWith("rabbitmq", "a partition of RabbitMQ goes on", (url) => {
  goesOn({ name: "rabbitmq", dedups: false, url, open: openRabbitmqRig, startServer: startRabbitmq });
});
describeWith("redis", "a partition of Redis Streams goes on", (url) => {
  for (const driver of drivers) goesOn(redisUnderTest(driver, url));
});
