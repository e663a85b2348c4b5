/** A letter whose writing went unanswered is not written a second time over what a person decided meanwhile. */
import type { Inbox } from "ichido/inbox";
import type { TransactionRunner } from "ichido/transactions";
import { beforeAll, describe, expect, test } from "vitest";
import { consuming } from "./consumer-bed.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, message, migrated } from "./inbox-messages.ts";

/** The first transaction that writes a letter commits and is not answered; `meanwhile` runs before its writer hears of that. */
function unanswered(runner: TransactionRunner<unknown>, meanwhile: () => Promise<unknown>): TransactionRunner<unknown> {
  let isOver = false;
  return {
    ...runner,
    async run(fn, options) {
      let writes = false;
      const value = await runner.run((tx, handle) => {
        const execute: typeof handle.execute = (sql, values, how) => {
          writes ||= /insert into \S*inbox_dead/.test(sql);
          return handle.execute(sql, values, how);
        };
        return fn(tx, { ...handle, execute });
      }, options);
      if (!writes || isOver) return value;
      isOver = true;
      await meanwhile();
      throw new Error("the connection was lost");
    },
  };
}

/** The first transaction that writes a letter is undone. */
function undone(runner: TransactionRunner<unknown>): TransactionRunner<unknown> {
  let isOver = false;
  return {
    ...runner,
    run: (fn, options) =>
      runner.run((tx, handle) => {
        const execute: typeof handle.execute = (sql, values, how) => {
          if (isOver || !/insert into \S*inbox_dead/.test(sql)) return handle.execute(sql, values, how);
          isOver = true;
          return Promise.reject(new Error("the connection was lost"));
        };
        return fn(tx, { ...handle, execute });
      }, options),
  };
}

forEachDatabase("a letter whose writing went unanswered", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
  });

  describe.each([
    ["first", 1],
    ["redelivered", 2],
  ])("of a message that is %s", (kind, deliveries) => {
    test("stays to be replayed where a person said so meanwhile", async () => {
      const one = message();
      const handler = `replayed-${kind}`;
      const decision = { handler, id: one.id, actor: "ann", reason: "mended" };
      let isMended = false;
      const once = (): void => {
        if (!isMended) throw new Error("broken");
      };
      const lossy = unanswered(open().side().runner, () => inbox.dead.replay(decision));
      const bed = await consuming(inboxOn(lossy), [{ name: handler, topics: ["*"], once }], { attemptsMax: 1 });
      await bed.deliver(one, deliveries);
      expect(bed.answers.acked).toEqual([one.id]);
      expect(await inbox.dead.get(decision)).toMatchObject({ state: "replaying", reason: "failed" });
      isMended = true;
      expect(await bed.consumer.replay()).toBe(1);
      expect(await inbox.dead.get(decision)).toBeUndefined();
    });

    test("stays away where a person let it go meanwhile", async () => {
      const one = message();
      const handler = `discarded-${kind}`;
      const decision = { handler, id: one.id, actor: "ann", reason: "not wanted" };
      const lossy = unanswered(open().side().runner, () => inbox.dead.discard(decision));
      const once = (): never => {
        throw new Error("broken");
      };
      const bed = await consuming(inboxOn(lossy), [{ name: handler, topics: ["*"], once }], { attemptsMax: 1 });
      await bed.deliver(one, deliveries);
      expect(bed.answers.acked).toEqual([one.id]);
      expect(await inbox.dead.get(decision)).toBeUndefined();
    });

    test("is written where only a letter of the same id with other content is there", async () => {
      const handler = `others-${kind}`;
      const one = message();
      const other = { ...message({ payload: "other" }), id: one.id };
      const once = (): never => {
        throw new Error("broken");
      };
      const bed = await consuming(inboxOn(undone(open().side().runner)), [{ name: handler, topics: ["*"], once }], {
        attemptsMax: 1,
      });
      const sound = await consuming(inbox, [{ name: handler, topics: ["*"], once }], { attemptsMax: 1 });
      await sound.deliver(one, 1);
      await bed.deliver(other, deliveries);
      expect(bed.answers.acked).toEqual([one.id]);
      const { letters } = await inbox.dead.list({ handler });
      expect(letters.map(({ message, reason }) => [reason, Buffer.from(message.payload).toString()])).toEqual([
        ["failed", '{"order":7}'],
        ["conflict", '"other"'],
      ]);
    });
  });
});
