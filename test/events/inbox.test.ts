/** A message takes effect once for each handler, on the three databases. */
import { setTimeout as delay } from "node:timers/promises";
import type { TransactionHandle } from "ichido";
import { createInbox, type Inbox } from "ichido/inbox";
import { createFaultProxy } from "ichido/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { addEffect } from "../effects/sides.ts";
import { uniqueName } from "../support/services.ts";
import { forEachDatabase } from "./inbox-databases.ts";
import { dayMs, inboxOn, leasedInboxOn, message, migrated } from "./inbox-messages.ts";

forEachDatabase("the inbox", (open) => {
  let inbox: Inbox;
  beforeAll(async () => {
    inbox = await migrated(open());
  });

  const writing =
    (name: string) =>
    (_tx: unknown, { handle }: { readonly handle: TransactionHandle }): Promise<void> =>
      addEffect(handle, name);
  const count = async (name: string): Promise<number> =>
    (await open().effects()).filter((each) => each === name).length;

  test("a message is processed once, and then is a duplicate", async () => {
    const one = message();
    expect(await inbox.runOnce(one, "stock", writing(one.id))).toEqual({ outcome: "processed" });
    expect(await inbox.runOnce(one, "stock", writing(one.id))).toEqual({ outcome: "duplicate" });
    expect(await count(one.id)).toBe(1);
  });

  test("a redelivery is looked up first: new, it is processed; processed, a duplicate; changed, a conflict", async () => {
    const one = message();
    const again = { redelivered: true };
    expect(await inbox.runOnce(one, "stock", writing(one.id), again)).toEqual({ outcome: "processed" });
    expect(await inbox.runOnce(one, "stock", writing(one.id), again)).toEqual({ outcome: "duplicate" });
    const changed = message({ id: one.id, payload: new TextEncoder().encode('"other"') });
    expect(await inbox.runOnce(changed, "stock", writing(one.id), again)).toEqual({ outcome: "conflict" });
    expect(await count(one.id)).toBe(1);
  });

  test("W9 two handlers in one database each get it", async () => {
    const one = message();
    for (const handler of ["stock", "mail"]) {
      expect(await inbox.runOnce(one, handler, writing(one.id))).toEqual({ outcome: "processed" });
    }
    expect(await count(one.id)).toBe(2);
  });

  test("W10 ids are told apart byte by byte, long ones too", async () => {
    const salt = uniqueName("");
    const long = `${salt}${"x".repeat(400)}`;
    const ids = ["AbC", "aBc", "résumé", "resume", "re\u0301sume\u0301", "k", "k ", "k\t", "\u0001k"].map(
      (id) => salt + id,
    );
    for (const id of [...ids, long, `${long}y`, `\u0001${salt}`]) {
      expect(await inbox.runOnce(message({ id }), "bytes", writing(salt))).toEqual({ outcome: "processed" });
      expect(await inbox.runOnce(message({ id }), "bytes", writing(salt))).toEqual({ outcome: "duplicate" });
    }
    expect(await count(salt)).toBe(ids.length + 3);
    await expect(inbox.runOnce(message({ id: "" }), "bytes", writing(salt))).rejects.toMatchObject({
      code: "message-invalid",
    });
  });

  test("W10 an error that is no duplicate of the key is not swallowed", async () => {
    const once = uniqueName("once");
    await inbox.runOnce(message(), "unique", (_tx, { handle }) => addEffect(handle, once, once));
    const second = message();
    await expect(inbox.runOnce(second, "unique", (_tx, { handle }) => addEffect(handle, once, once))).rejects.toThrow(
      /unique|duplicate/i,
    );
    expect(await inbox.runOnce(second, "unique", writing(second.id))).toEqual({ outcome: "processed" });
  });

  test("a handler that catches a failed statement is never called processed while its writes are undone", async () => {
    const once = uniqueName("caught");
    await inbox.runOnce(message(), "caught", (_tx, { handle }) => addEffect(handle, once, once));
    const one = message();
    const attempt = inbox.runOnce(one, "caught", async (_tx, { handle }) => {
      await addEffect(handle, one.id);
      await addEffect(handle, once, once).catch(() => undefined);
    });
    // MySQL and SQLite undo the one statement alone, so there the handler was right to go on.
    if (open().dialect === "postgres") await expect(attempt).rejects.toThrow(/savepoint/);
    else expect(await attempt).toEqual({ outcome: "processed" });
    const again = open().dialect === "postgres" ? "processed" : "duplicate";
    expect(await inbox.runOnce(one, "caught", writing(one.id))).toEqual({ outcome: again });
    expect(await count(one.id)).toBe(1);
  });

  test.each([
    ["payload", { payload: { order: 8 } }],
    ["topic", { topic: "order.refunded" }],
    ["source", { source: "/elsewhere" }],
    ["content type", { contentType: "text/plain" }],
  ])("W13 the same id with another %s is a conflict, and nothing runs", async (_what, change) => {
    const one = message();
    await inbox.runOnce(one, "stock", writing(one.id));
    expect(await inbox.runOnce(message({ id: one.id, ...change }), "stock", writing(one.id))).toEqual({
      outcome: "conflict",
    });
    expect(await count(one.id)).toBe(1);
  });

  test("W21 two messages with equal bodies are both processed, and one whose handler failed runs again", async () => {
    const [one, other] = [message(), message()];
    const failure = new Error("out of stock");
    await expect(
      inbox.runOnce(one, "stock", async (_tx, { handle }) => {
        await addEffect(handle, one.id);
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect(await count(one.id)).toBe(0);
    expect(await inbox.runOnce(one, "stock", writing(one.id), { attempt: 2 })).toEqual({ outcome: "processed" });
    expect(await inbox.runOnce(other, "stock", writing(one.id))).toEqual({ outcome: "processed" });
    expect(await count(one.id)).toBe(2);
  });

  test("the handler gets the transaction, a handle, the message and the attempt", async () => {
    const one = message();
    await inbox.runOnce(
      one,
      "context",
      (tx, context) => {
        expect(tx).toBeDefined();
        expect(context).toMatchObject({ message: one, attempt: 3, handle: { dialect: open().dialect } });
      },
      { attempt: 3 },
    );
  });

  test("deliveries at the same time have one effect", async () => {
    for (let round = 0; round < 5; round += 1) {
      const one = message();
      const sides = [inboxOn(open().side().runner), inboxOn(open().side().runner)];
      const results = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          (sides[index % 2] ?? inbox).runOnce(one, "stock", async (_tx, { handle }) => {
            await addEffect(handle, one.id);
            await delay(5);
          }),
        ),
      );
      expect(results.filter(({ outcome }) => outcome === "processed")).toHaveLength(1);
      expect(await count(one.id)).toBe(1);
      expect(await inbox.runOnce(one, "stock", writing(one.id))).toEqual({ outcome: "duplicate" });
    }
  });

  test("of deliveries at the same time whose first one fails another takes its place", async () => {
    const one = message();
    let first = true;
    const results = await Promise.allSettled(
      Array.from({ length: 6 }, () =>
        inbox.runOnce(one, "stock", async (_tx, { handle }) => {
          const fails = first;
          first = false;
          await addEffect(handle, one.id);
          await delay(30);
          if (fails) throw new Error("the first one fails");
        }),
      ),
    );
    expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
    expect(
      results.filter((result) => result.status === "fulfilled" && result.value.outcome === "processed"),
    ).toHaveLength(1);
    expect(await count(one.id)).toBe(1);
  });

  test("a second delivery waits for the first, then is busy; the first is not disturbed", async () => {
    const one = message();
    // Another connection, and on SQLite a short wait for the file.
    const impatient = inboxOn(open().impatient(200), { lockTimeoutMs: 200 });
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let entered = (): void => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const first = inbox.runOnce(one, "stock", async (_tx, { handle }) => {
      await addEffect(handle, one.id);
      entered();
      await held;
    });
    await inside;
    expect(await impatient.runOnce(one, "stock", writing(one.id))).toEqual({ outcome: "busy" });
    release();
    expect(await first).toEqual({ outcome: "processed" });
    expect(await impatient.runOnce(one, "stock", writing(one.id))).toEqual({ outcome: "duplicate" });
    expect(await count(one.id)).toBe(1);
  });

  test("the handler's own statements wait as long as the session says, not as long as the inbox", async (context) => {
    if (open().dialect !== "postgres") return context.skip("the setting is PostgreSQL's");
    let seen: unknown;
    await inbox.runOnce(message(), "settings", async (_tx, { handle }) => {
      seen = (await handle.execute("select current_setting('lock_timeout') as setting", [])).rows[0]?.["setting"];
    });
    expect(seen).toBe("0");
  });

  test("processed messages are forgotten after the retention, in batches", async () => {
    const short = inboxOn(open().side().runner, { retentionMs: 2_000, tablePrefix: "sweep_" });
    await short.migrate();
    for (let count = 0; count < 25; count += 1) await short.runOnce(message(), "stock", () => {});
    await delay(2_300);
    const late = message();
    await short.runOnce(late, "stock", () => {});
    expect(await short.sweep({ limit: 10, budgetMs: 0 })).toEqual({ deleted: 10, more: true });
    expect(await short.sweep({ limit: 10 })).toEqual({ deleted: 15, more: false });
    expect(await short.stats()).toMatchObject({ processed: 1, dead: 0, oldestDeadMs: undefined });
    expect(await short.runOnce(late, "stock", () => {})).toEqual({ outcome: "duplicate" });
  });

  test("missing tables are named with what to do", async () => {
    const lost = inboxOn(open().side().runner, { tablePrefix: "nowhere_" });
    const refusal = { code: "schema-missing", message: expect.stringContaining("inbox.migrate()") as string };
    await expect(lost.runOnce(message(), "stock", () => {})).rejects.toMatchObject(refusal);
    await expect(lost.check()).rejects.toMatchObject(refusal);
    await inbox.check();
  });

  describe("inbox.run", () => {
    const leased = (onUnknown: "hold" | "rerun" = "hold") => leasedInboxOn(open().side(), onUnknown);
    beforeAll(async () => {
      await (open().side().store as unknown as { migrate(): Promise<unknown> }).migrate();
    });

    test("runs once, with a reference that every attempt shares", async () => {
      const one = message();
      const references: string[] = [];
      const charge = async (context: { reference(name: string): string }): Promise<void> => {
        references.push(context.reference("charge"));
        if (references.length === 1) throw new Error("declined for now");
      };
      await expect(leased("rerun").run(one, "charge", charge)).rejects.toThrow("declined for now");
      expect(await leased("rerun").run(one, "charge", charge)).toEqual({ outcome: "processed" });
      expect(await leased("rerun").run(one, "charge", charge)).toEqual({ outcome: "duplicate" });
      expect(references).toHaveLength(2);
      expect(new Set(references).size).toBe(1);
      expect(await leased("rerun").run(message({ id: one.id, payload: 9 }), "charge", charge)).toEqual({
        outcome: "conflict",
      });
    });

    test("a delivery while the first one runs is busy; one whose outcome is unknown says so", async () => {
      const one = message();
      const consumer = leased();
      let second: unknown;
      await consumer.run(one, "charge", async () => {
        second = await leased().run(one, "charge", () => {});
      });
      expect(second).toEqual({ outcome: "busy" });
      const doubtful = message();
      const attempt = consumer.run(doubtful, "charge", async (context) => {
        await context.step("charge", () => {
          throw new Error("the connection to the bank broke");
        });
      });
      await expect(attempt.catch((error: Error) => ({ outcome: error.message }))).resolves.toBeDefined();
      expect(await leased().run(doubtful, "charge", () => {})).toEqual({ outcome: "busy", reason: "outcome-unknown" });
    });

    test("without an engine it says what to pass", async () => {
      await expect(inbox.run(message(), "charge", () => {})).rejects.toMatchObject({
        code: "usage-invalid",
        message: expect.stringContaining("createIchido") as string,
      });
    });
  });

  test("a COMMIT whose answer is lost is asked for: processed if it took effect, else to be delivered again", async (context) => {
    if (open().dialect === "sqlite") return context.skip("there is no connection to lose");
    const proxy = await createFaultProxy({ target: open().url });
    const side = open().side(proxy.url);
    const cutOff = inboxOn(side.runner);
    try {
      for (const place of ["after", "before"] as const) {
        for (let round = 0; round < 10; round += 1) {
          const one = message();
          const cut = proxy.cut({ direction: "to-server", pattern: "COMMIT", place });
          const first = await cutOff.runOnce(one, "stock", writing(one.id)).catch((error: unknown) => error);
          expect(cut.count).toBe(1);
          if (place === "after") expect(first).toEqual({ outcome: "processed" });
          else expect(first).toMatchObject({ code: "store-unavailable" });
          const again = place === "after" ? "duplicate" : "processed";
          expect(await inbox.runOnce(one, "stock", writing(one.id))).toEqual({ outcome: again });
          expect(await count(one.id)).toBe(1);
        }
      }
    } finally {
      await proxy.close();
    }
  });

  test("a connection that breaks inside the handler is the database's fault, not the message's", async (context) => {
    if (open().dialect === "sqlite") return context.skip("there is no connection to lose");
    const proxy = await createFaultProxy({ target: open().url });
    const side = open().side(proxy.url);
    try {
      const one = message();
      proxy.cut({ direction: "to-server", pattern: "INSERT INTO effects", place: "before" });
      await expect(inboxOn(side.runner).runOnce(one, "stock", writing(one.id))).rejects.toMatchObject({
        code: "store-unavailable",
      });
      expect(await inbox.runOnce(one, "stock", writing(one.id))).toEqual({ outcome: "processed" });
    } finally {
      await proxy.close();
    }
  });
});

describe("options of the inbox", () => {
  const transactions = { dialect: "postgres", run: () => Promise.reject(new Error("not asked")) } as const;

  test.each([
    [{ retentionMs: 7 * dayMs, redeliveryMsMax: 7 * dayMs }, /retentionMs .* must be greater than redeliveryMsMax/],
    [{ retentionMs: 0 }, /retentionMs: expected an integer from 1/],
    [{ retentionMs: dayMs, lockTimeoutMs: -1 }, /lockTimeoutMs: expected/],
    [{ retentionMs: dayMs, tablePrefix: "a b" }, /option tablePrefix: expected/],
  ])("%j is refused", (options, text) => {
    expect(() => createInbox({ transactions, ...options })).toThrow(text);
  });

  test("a pool is no runner", () => {
    expect(() => createInbox({ transactions: {} as never, retentionMs: dayMs })).toThrow(/pgTransactions/);
  });

  test("a handler's name must be one that can stay", async () => {
    const inbox = createInbox({ transactions, retentionMs: dayMs });
    await expect(inbox.runOnce(message(), "two words", () => {})).rejects.toThrow(/handler: expected/);
  });

  test("a retention that the subscription outlives is refused at start", async () => {
    const inbox = createInbox({ transactions, retentionMs: dayMs });
    await expect(inbox.check({ name: "orders", redeliveryMsMax: 2 * dayMs })).rejects.toMatchObject({
      code: "option-invalid",
      message: expect.stringContaining("orders") as string,
    });
  });
});

test.each([
  ["runOnce", (inbox: Inbox) => inbox.runOnce(message(), "one", () => {}, { redeliverd: true } as never)],
  ["run", (inbox: Inbox) => inbox.run(message(), "one", () => {}, { leasMs: 5_000 } as never)],
  ["sweep", (inbox: Inbox) => inbox.sweep({ limt: 5 } as never)],
  ["dead.list", (inbox: Inbox) => inbox.dead.list({ handlr: "one" } as never)],
  [
    "dead.replay",
    (inbox: Inbox) => inbox.dead.replay({ handler: "one", id: "1", actor: "ann", reason: "why", too: [] } as never),
  ],
  [
    "dead.discard",
    (inbox: Inbox) => inbox.dead.discard({ handler: "one", id: "1", actor: "ann", reason: "why", to: [] } as never),
  ],
])("inbox.%s refuses a misspelt option by name", async (verb, call) => {
  const inbox = inboxOn({ dialect: "sqlite", run: () => Promise.reject(new Error("not asked")) });
  const refusal = {
    code: "option-invalid",
    message: expect.stringContaining(`inbox.${verb} has no such option`) as string,
  };
  await expect(call(inbox)).rejects.toMatchObject(refusal);
});
