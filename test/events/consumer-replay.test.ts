/** Replayed dead letters: two consumers at once, decisions during a look, and the ends of a consumer that replays. */
import { createConsumer, type Consumer } from "ichido/inbox";
import { inProcess } from "ichido/in-process";
import { expect, test } from "vitest";
import { Pool } from "pg";
import { pgTransactions } from "ichido/transactions";
import { eventually } from "../support/eventually.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import { inboxOn, message } from "./inbox-messages.ts";

const handler = "stock";

describeWith("postgres", "consumers that replay dead letters", (server) => {
  // On PostgreSQL: elsewhere the quick one waits in place for the row that the slow one holds.
  test("a letter that failed again stays a letter", async () => {
    await using database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 6 });
    pool.on("error", () => undefined);
    const inbox = inboxOn(pgTransactions(pool));
    await inbox.migrate();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    const broken = (): never => {
      throw new Error("still broken");
    };
    const consumerOf = (once: (id: string) => unknown): Consumer & { publish: (id: string) => Promise<unknown> } => {
      const { publisher, subscription } = inProcess();
      const consumer = createConsumer({
        subscription,
        inbox,
        attemptsMax: 1,
        replayMs: 3_600_000,
        handlers: [{ name: handler, topics: ["*"], once: (_tx, context) => once(context.message.id) }],
      });
      return { ...consumer, publish: (id) => publisher.publish(message({ id })) };
    };
    const first = consumerOf(broken);
    await first.start();
    for (const id of ["m0", "m1"]) await first.publish(id);
    // Before the decisions: it would hear of them, and look by itself.
    await first.stop();
    for (const id of ["m0", "m1"]) await inbox.dead.replay({ handler, id, actor: "ann", reason: "fixed" });

    // The slow one has both in its list while the quick one runs and buries the second.
    const slow = consumerOf(async (id) => {
      if (id !== "m0") return broken();
      enter();
      await released;
      return undefined;
    });
    const replaying = slow.replay();
    await entered;
    await consumerOf(broken).replay();
    release();
    await replaying;
    const { letters } = await inbox.dead.list();
    expect(letters.map((letter) => letter.message?.id)).toContain("m1");
    await pool.end();
  });

  test("a decision that comes while a look is under way is not left for the next one", async () => {
    await using database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 6 });
    pool.on("error", () => undefined);
    const inbox = inboxOn(pgTransactions(pool));
    await inbox.migrate();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    let isBroken = true;
    const { publisher, subscription } = inProcess();
    const consumer = createConsumer({
      subscription,
      inbox,
      attemptsMax: 1,
      replayMs: 3_600_000,
      handlers: [
        {
          name: handler,
          topics: ["*"],
          async once(_tx, context) {
            if (isBroken) throw new Error("broken");
            if (context.message.id !== "m0") return;
            enter();
            await released;
          },
        },
      ],
    });
    await consumer.start();
    for (const id of ["m0", "m1"]) await publisher.publish(message({ id }));
    await eventually(async () => expect((await inbox.dead.list()).letters).toHaveLength(2));
    isBroken = false;
    const decide = (id: string): Promise<unknown> => inbox.dead.replay({ handler, id, actor: "ann", reason: "fixed" });
    await decide("m0");
    await entered;
    await decide("m1");
    // Long enough that the second decision has joined the look under way.
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    await eventually(async () => expect((await inbox.dead.list()).letters).toEqual([]));
    await consumer.stop();
    await pool.end();
  });

  test("stop() waits no longer than drainMs for a replayed letter; what its handler writes later still counts", async () => {
    await using database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 6 });
    pool.on("error", () => undefined);
    const inbox = inboxOn(pgTransactions(pool));
    await inbox.migrate();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
    let isBroken = true;
    const { publisher, subscription } = inProcess();
    const consumer = createConsumer({
      subscription,
      inbox,
      attemptsMax: 1,
      replayMs: 3_600_000,
      handlers: [
        {
          name: handler,
          topics: ["*"],
          async once() {
            if (isBroken) throw new Error("broken");
            enter();
            await released;
          },
        },
      ],
    });
    await consumer.start();
    await publisher.publish(message({ id: "m0" }));
    isBroken = false;
    await inbox.dead.replay({ handler, id: "m0", actor: "ann", reason: "fixed" });
    await entered;
    await consumer.stop({ drainMs: 20 });
    expect(consumer.health().state).toBe("stopped");
    expect((await inbox.dead.list()).letters).toHaveLength(1);
    release();
    await eventually(async () => expect((await inbox.dead.list()).letters).toEqual([]));
    await pool.end();
  });

  test("a start that failed leaves nothing running, and can be tried again", async () => {
    await using database = await freshDatabase(server);
    const pool = new Pool({ connectionString: database.url, max: 6 });
    pool.on("error", () => undefined);
    const inbox = inboxOn(pgTransactions(pool));
    await inbox.migrate();
    let isBroken = true;
    let ran = 0;
    const once = (): void => {
      if (isBroken) throw new Error("broken");
      ran += 1;
    };
    const handlers = [{ name: handler, topics: ["*"], once }];
    const first = inProcess();
    const former = createConsumer({ subscription: first.subscription, inbox, attemptsMax: 1, handlers });
    await former.start();
    await first.publisher.publish(message({ id: "m0" }));
    await former.stop();
    isBroken = false;

    const { subscription } = inProcess();
    let refuses = true;
    const refusing = {
      name: subscription.name,
      redeliveryMsMax: subscription.redeliveryMsMax,
      start: async (taker: Parameters<typeof subscription.start>[0]) => {
        if (refuses) throw new Error("the queue does not exist");
        await subscription.start(taker);
      },
      stop: () => subscription.stop(),
    };
    const consumer = createConsumer({ subscription: refusing, inbox, handlers, replayMs: 10 });
    await expect(consumer.start()).rejects.toThrow("the queue does not exist");
    expect(consumer.health().state).toBe("new");
    await inbox.dead.replay({ handler, id: "m0", actor: "ann", reason: "fixed" });
    // Long enough for several looks, if there were any.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(ran).toBe(0);
    refuses = false;
    await consumer.start();
    await eventually(() => expect(ran).toBe(1));
    await consumer.stop();
    await pool.end();
  });
});
