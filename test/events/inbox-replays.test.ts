/** Letters that are to be replayed are found by themselves, and those that nobody runs are told of. */
import type { Inbox } from "ichido/inbox";
import { beforeAll, expect, test } from "vitest";
import { consuming, writes } from "./consumer-bed.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { inboxOn, message, migrated } from "./inbox-messages.ts";

forEachDatabase("replays", (open, dialect) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
  });

  test("the look for them reads no other letter", async () => {
    const asked: { readonly sql: string; readonly values: readonly unknown[] }[] = [];
    const { runner } = open().side();
    const heard = inboxOn({
      ...runner,
      run: (fn, options) =>
        runner.run(
          (tx, handle) =>
            fn(tx, {
              ...handle,
              execute: (sql, values, more) => {
                if (/^select.*inbox_dead/i.test(sql)) asked.push({ sql, values });
                return handle.execute(sql, values, more);
              },
            }),
          options,
        ),
    });
    const bed = await consuming(inbox, [{ name: "many", topics: ["*"], once: () => Promise.reject(new Error("no")) }], {
      attemptsMax: 1,
    });
    await Promise.all(Array.from({ length: 200 }, () => bed.deliver(message())));
    await bed.consumer.stop();
    const { consumer } = await consuming(heard, [writes("many")], { replayMs: 600_000 });
    await consumer.replay();
    expect(asked.length).toBeGreaterThan(0);
    for (const { sql, values } of asked) {
      const rows = await runner.run(async (_tx, handle) => {
        // A table of a few pages is read as a whole where that is allowed.
        if (dialect === "postgres") await handle.execute("set local enable_seqscan = off", []);
        return (await handle.execute(`explain ${dialect === "sqlite" ? "query plan " : ""}${sql}`, values)).rows;
      });
      const plan = dialect === "mysql" ? rows.map((row) => row["key"]) : rows;
      expect(JSON.stringify(plan), sql).toContain("inbox_dead_state");
    }
  });

  test("of a handler that no consumer has are told, once, and in the figures; the handler's own consumer says nothing", async () => {
    const bed = await consuming(inbox, [{ name: "gone", topics: ["*"], once: () => Promise.reject(new Error("no")) }], {
      attemptsMax: 1,
    });
    const one = message();
    await bed.deliver(one);
    await bed.consumer.stop();
    expect(await inbox.stats()).toMatchObject({ oldestReplayingMs: undefined });
    await inbox.dead.replay({ handler: "gone", id: one.id, actor: "ann", reason: "again" });
    const other = await consuming(inbox, [writes("other")], { replayMs: 600_000 });
    await other.consumer.replay();
    expect(other.types()).toEqual([]);
    await open().script("update ichido_inbox_dead set marked_ms = marked_ms - 120000 where state = 'replaying'");
    await other.consumer.replay();
    await other.consumer.replay();
    expect(other.events).toMatchObject([{ type: "replay-waits", handler: "gone" }]);
    expect((await inbox.stats()).oldestReplayingMs).toBeGreaterThanOrEqual(120_000);
    const own = await consuming(inbox, [writes("gone")], { replayMs: 600_000 });
    await own.consumer.replay();
    expect(own.types()).toEqual(["processed"]);
  });
});
