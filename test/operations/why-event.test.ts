/** `why` of an event: wherever it is, in outbox or inbox, the verdict says so; and no look for it walks a table. */
import { createIchido } from "ichido";
import type { ConsumerHandler, Inbox, Migrator } from "ichido/inbox";
import { memoryStore } from "ichido/memory";
import { why, type Verdict } from "ichido/operations";
import { createOutbox, createRelay, type Outbox } from "ichido/outbox";
import type { TransactionHandle, TransactionRunner } from "ichido/transactions";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { consuming, writes } from "../events/consumer-bed.ts";
import { forEachDatabase, type Database } from "../events/inbox-databases.ts";
import { inboxOn, leasedInboxOn, message, migrated } from "../events/inbox-messages.ts";
import { openOutbox, rejected, wire } from "../events/outbox-bed.ts";
import { eventually } from "../support/eventually.ts";

const store = memoryStore();
const decision = { actor: "ann", reason: "ticket 4711" };
const mailer: ConsumerHandler<unknown> = {
  name: "mailer",
  topics: ["*"],
  once: () => Promise.reject(new Error("no mail")),
};
const textsOf = ({ timeline }: Verdict): readonly string[] => timeline.map(({ kind, text }) => `${kind}: ${text}`);

function inInbox(open: () => Database): void {
  let inbox: Inbox;
  const ask = (text: string): Promise<Verdict> => why({ ichido: { store }, inbox }, { text });

  beforeAll(async () => {
    inbox = await migrated(open());
  });

  async function givenUp(handlers: readonly ConsumerHandler<unknown>[], ...given: ReturnType<typeof message>[]) {
    const bed = await consuming(inbox, handlers, { attemptsMax: 1 });
    for (const each of given) await bed.deliver(each);
    await bed.consumer.stop();
  }

  test("a letter waits for a person, is to run again, or was discarded, and each is told with who decided", async () => {
    const [one, two] = [message(), message()];
    await givenUp([mailer, writes("search")], one, two);
    const dead = await ask(one.id);
    expect(dead).toMatchObject({ verdict: "event-dead", severity: "warning" });
    expect(dead.says).toBe("the event was given up by mailer and waits for a person");
    expect(textsOf(dead).toSorted()).toEqual(["event: mailer: dead (failed)", "event: search: processed"]);

    await inbox.dead.replay({ ...decision, handler: "mailer", id: one.id });
    const replaying = await ask(one.id);
    expect(replaying).toMatchObject({ verdict: "event-replaying", severity: "warning" });
    expect(replaying.says).toContain("a person lets it run again");
    expect(textsOf(replaying)).toContain("operator: replay by ann: ticket 4711 (mailer)");

    await inbox.dead.discard({ ...decision, handler: "mailer", id: two.id });
    const discarded = await ask(two.id);
    expect(discarded).toMatchObject({ verdict: "event-discarded", severity: "ok", next: [] });
    expect(textsOf(discarded)).toContain("event: mailer: discarded");
    expect(textsOf(discarded)).toContain("operator: discard by ann: ticket 4711 (mailer)");

    const again = await consuming(inbox, [writes("mailer")], { replayMs: 600_000 });
    await again.consumer.replay();
    expect(await ask(one.id)).toMatchObject({ verdict: "event-once", severity: "ok" });
  });

  test("a letter that no handler wanted is told, and what became of it", async () => {
    const one = message({ topic: "stock.moved" });
    await givenUp([writes("orders", ["order.*"])], one);
    const dead = await ask(one.id);
    expect(dead).toMatchObject({ verdict: "event-dead", says: expect.stringContaining("no handler wanted the event") });
    expect(dead.next).toEqual([expect.stringContaining("--to")]);
    await inbox.dead.discard({ ...decision, handler: "(unhandled)", id: one.id });
    expect(await ask(one.id)).toMatchObject({ verdict: "event-discarded" });
  });

  test("other content under the same id waits for a person, though the first took effect", async () => {
    const one = message();
    await givenUp([writes("ledger")], one, { ...one, payload: Buffer.from('{"order":8}') });
    const verdict = await ask(one.id);
    expect(verdict).toMatchObject({
      verdict: "event-dead",
      says: expect.stringContaining("this id and other content"),
    });
    expect(textsOf(verdict).toSorted()).toEqual(["event: ledger: dead (conflict)", "event: ledger: processed"]);
    expect(verdict.next.join()).toContain("two events under one id");
  });

  test("an id is found however long it is, and what can be no id is not there", async () => {
    const one = message({ id: `long-${"é".repeat(300)}` });
    await givenUp([mailer], one);
    expect(await ask(one.id)).toMatchObject({ verdict: "event-dead" });
    for (const id of ["", "\ud800", "nul \0"]) expect(await inbox.find(id)).toEqual([]);
  });

  test("of one event, a handler's own record does not hide that another handler gave it up", async () => {
    const side = open().side();
    const leased = leasedInboxOn(side, "rerun");
    await (side.store as Partial<Migrator>).migrate?.();
    const bed = await consuming(leased, [mailer, { name: "billing", topics: ["*"], run: () => undefined }], {
      attemptsMax: 1,
    });
    const one = message();
    await bed.deliver(one);
    await bed.consumer.stop();
    const verdict = await why({ ichido: { store: side.store }, inbox: leased }, { text: one.id });
    expect(verdict).toMatchObject({
      verdict: "event-dead",
      keys: [{ operation: "inbox.billing", state: "completed" }],
    });
    expect(textsOf(verdict)).toContain(`event: event ${one.id}, mailer: dead (failed)`);
  });
}

function inOutbox(open: () => Database): void {
  let outbox: Outbox;
  const ask = (text: string): Promise<Verdict> => why({ ichido: { store }, outbox }, { text });
  const add = (topic: string, key = "a"): Promise<string> =>
    outbox.transaction(async (_tx, handle) => (await outbox.add(handle, { topic, key, payload: 1 })).id);

  beforeAll(async () => {
    outbox = await openOutbox(open(), { keepSentMs: 3_600_000 });
  });

  test("an event waits, is given up, sent or discarded, and each is told", async () => {
    const broker = wire(() => rejected("refused"));
    const relay = createRelay(outbox, { routes: { wire: broker, other: broker }, backoffMs: 1, backoffMsMax: 1 });
    onTestFinished(() => relay.stop());
    const [one, two] = [await add("skip.paid", "a"), await add("skip.paid", "b")];
    const pending = await ask(one);
    expect(pending).toMatchObject({ verdict: "event-pending", severity: "warning", understood: ["event"] });
    expect(pending.says).toContain("has not been sent yet");

    await eventually(async () => {
      await relay.tick();
      expect((await outbox.stats()).dead).toBe(2);
    }, 30_000);
    const dead = await ask(one);
    const [entry] = await outbox.find(one);
    expect(dead).toMatchObject({ verdict: "event-dead", says: expect.stringContaining("by the relay (rejected)") });
    expect(dead.next).toEqual([`npx ichido outbox show ${entry?.seq}, then replay or discard it`]);

    await outbox.dead.discard({ ...decision, seq: (await outbox.find(two))[0]?.seq ?? 0 });
    const discarded = await ask(two);
    expect(discarded).toMatchObject({ verdict: "event-discarded", severity: "ok" });
    expect(textsOf(discarded)).toEqual(["operator: discard by ann: ticket 4711 (outbox)"]);

    broker.answer = () => ({ outcome: "sent" });
    await outbox.dead.replay({ ...decision, seq: entry?.seq ?? 0 });
    await eventually(async () => {
      await relay.tick();
      expect(await ask(one)).toMatchObject({ verdict: "event-sent", severity: "ok" });
    }, 30_000);
    expect((await ask(one)).missing).toContain("no inbox is set: what consumers did with it is not known");
    for (const id of ["", "\ud800", "nul\0", "é", "x".repeat(256)]) expect(await outbox.find(id)).toEqual([]);
  });

  test("one that stands behind another of its key names it", async () => {
    const broker = wire(() => rejected("refused"));
    const relay = createRelay(outbox, { routes: { wire: broker, other: broker }, backoffMs: 1, backoffMsMax: 1 });
    onTestFinished(() => relay.stop());
    const [head, behind] = [await add("order.paid", "line"), await add("order.sent", "line")];
    await eventually(async () => {
      await relay.tick();
      expect((await outbox.find(head))[0]?.outcome).toBe("dead");
    }, 30_000);
    const [{ seq } = expect.fail()] = await outbox.find(head);
    expect((await ask(behind)).says).toContain(`it stands behind number ${seq} of its key`);
  });

  test("events that a record names are in its timeline, with what people decided about them", async () => {
    const scope = { principal: "p" };
    const engine = createIchido({ store, scope: () => scope, onUnknown: "hold", sweepMs: "off" });
    onTestFinished(() => engine.close());
    const id = await add("mail.sent");
    const key = `names-${id}`;
    await engine.run({ operation: "pay", scope, key }, (ctx) => ctx.resource("event", id));
    const verdict = await why({ ichido: engine, outbox }, { text: key });
    expect(verdict.verdict).toBe("one-effect");
    expect(verdict.timeline).toContainEqual(
      expect.objectContaining({
        kind: "event",
        key: "A",
        text: expect.stringContaining(`event ${id}, outbox: number`),
      }),
    );
  });
}

const rows = 10_000;
const digits =
  "(select 0 as d union all select 1 union all select 2 union all select 3 union all select 4 union all select 5 union all select 6 union all select 7 union all select 8 union all select 9)";
const from = `from ${digits} a, ${digits} b, ${digits} c, ${digits} e`;
const nth = "(a.d + b.d * 10 + c.d * 100 + e.d * 1000)";
const name = `concat('evt-', ${nth})`;
const hash = {
  postgres: `decode(md5(cast(${nth} as text)) || md5(cast(${nth} as text)), 'hex')`,
  mysql: `unhex(sha2(${nth}, 256))`,
  sqlite: `cast(concat('print-', ${nth}) as blob)`,
};
const keyHash = {
  postgres: `decode(md5(cast(${nth} as text)), 'hex')`,
  mysql: `unhex(md5(${nth}))`,
  sqlite: hash.sqlite,
};
const bytes = { postgres: "'\\x00'::bytea", mysql: "x'00'", sqlite: "x'00'" };

async function fill(database: Database): Promise<void> {
  const { dialect } = database;
  const [print, none, key] = [hash[dialect], bytes[dialect], keyHash[dialect]];
  const [p, handler] = ["ichido_", `concat('h', ${nth} % 5)`];
  const letter = `${handler}, ${name}, ${print}, 'order.paid', '{}', ${none}`;
  const put = (table: string, columns: string, values: string): string =>
    `insert into ${p}${table} (${columns}) select ${values} ${from}`;
  const event = `${nth} + 1, ${name}, 'order.paid'`;
  for (const statement of [
    put("inbox", "handler, id, print, dead, processed_ms", `${handler}, ${name}, ${print}, 0, 1`),
    put(
      "inbox_dead",
      "handler, id, print, topic, envelope, payload, reason, error, attempts, since_ms, state",
      `${letter}, 'failed', '', 1, 1, 'dead'`,
    ),
    put(
      "inbox_parked",
      "handler, id, print, line, envelope, payload, error, attempts, since_ms, due_ms",
      `${handler}, ${name}, ${print}, ${print}, '{}', ${none}, '', 1, 1, 1`,
    ),
    put(
      "inbox_audit",
      "at_ms, action, handler, id, topic, actor, reason",
      `1, 'replay', ${handler}, ${name}, '', 'ann', 'r'`,
    ),
    put(
      "outbox",
      "seq, id, topic, lane, key_hash, envelope, payload, added_ms",
      `${event}, 1, ${key}, '{}', ${none}, 1`,
    ),
    put("outbox_parked", "key_hash, topic, message_key, seq, reason, since_ms", `${key}, 't', 'k', ${nth}, 'r', 1`),
    put(
      "outbox_dead",
      "seq, id, topic, lane, envelope, payload, attempts, crashes, reason, added_ms, dead_ms",
      `${event}, 1, '{}', ${none}, 1, 0, 'rejected', 1, 1`,
    ),
    put("outbox_sent", "seq, id, topic, added_ms, sent_ms", `${event}, 1, 1`),
    put("outbox_audit", "seq, id, actor, action, reason, at_ms", `${nth} + 1, ${name}, 'ann', 'replay', 'r', 1`),
  ])
    await database.script(statement);
  const tables = [
    "inbox",
    "inbox_dead",
    "inbox_parked",
    "inbox_audit",
    "outbox",
    "outbox_dead",
    "outbox_sent",
    "outbox_audit",
    "outbox_parked",
  ];
  for (const table of tables)
    await database.script(dialect === "mysql" ? `analyze table ${p}${table}` : `analyze ${p}${table}`);
}

interface Plan {
  readonly sql: string;
  readonly lines: readonly string[];
}

/** Asks for the plan of every reading right before it. */
function explained(runner: TransactionRunner<unknown>, plans: Plan[]): TransactionRunner<unknown> {
  const words = runner.dialect === "sqlite" ? "explain query plan" : "explain";
  const through = (handle: TransactionHandle): TransactionHandle => ({
    ...handle,
    async execute(sql, values, options) {
      if (/^(?:select|with)/i.test(sql)) {
        const { rows: told } = await handle.execute(`${words} ${sql}`, values);
        plans.push({ sql, lines: told.map((row) => Object.values(row).map(String).join(" ")) });
      }
      return handle.execute(sql, values, options);
    },
  });
  return {
    dialect: runner.dialect,
    run: (fn, options) => runner.run((tx, handle) => fn(tx, through(handle)), options),
  };
}

/** A table that is read from end to end. What `with` made is as short as there are handlers. */
const walks: Readonly<Record<Database["dialect"], RegExp>> = {
  postgres: /Seq Scan on ichido_/,
  mysql: / (?:[a-z]|ichido_\w+) (?:ALL|index) /,
  sqlite: /SCAN (?:ichido_\w+|[idpok])(?: |$)/,
};

forEachDatabase("why of an event", (open, dialect) => {
  describe("in the inbox", () => inInbox(open));
  describe("in the outbox", () => inOutbox(open));

  test("is found by indexes, among ten thousand in every table", async () => {
    const plans: Plan[] = [];
    const { runner } = open().side();
    const transactions = explained(runner, plans);
    const outbox = createOutbox({ transactions, source: "/shop", topics: { "*": { to: "wire" } } });
    const inbox = inboxOn(transactions);
    await outbox.migrate();
    await inbox.migrate();
    await fill(open());
    plans.length = 0;
    const verdict = await why({ ichido: { store }, inbox, outbox }, { text: "evt-4711" });
    expect(verdict).toMatchObject({ verdict: "event-dead", understood: ["event"] });
    const handlers = plans.filter(({ sql }) => sql.includes("min(h.handler)")).length;
    // Outbox, two audits, and for each handler one look.
    expect(plans).toHaveLength(3 + handlers + (handlers - 1));
    for (const { sql, lines } of plans)
      expect(
        lines.filter((line) => walks[dialect].test(line)),
        `${sql}\n${lines.join("\n")}`,
      ).toEqual([]);
    expect((await outbox.find("evt-4711")).map(({ outcome }) => outcome).toSorted()).toEqual([
      "dead",
      "pending",
      "sent",
    ]);
    expect(rows).toBe((await outbox.stats()).pending);
  }, 120_000);
});
