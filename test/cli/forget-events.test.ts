/** `keys forget`: afterwards a customer is in no table, of records or of events. */
import { createIchido } from "ichido";
import type { Inbox } from "ichido/inbox";
import { createRelay, type Outbox } from "ichido/outbox";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { openAddress } from "../../packages/ichido/src/cli/store-address.ts";
import { consuming } from "../events/consumer-bed.ts";
import { forEachDatabase } from "../events/inbox-databases.ts";
import { message, migrated } from "../events/inbox-messages.ts";
import { openOutbox, rejected, wire } from "../events/outbox-bed.ts";
import { eventually } from "../support/eventually.ts";
import { ichidoHere, linesOf, type Ran } from "./command-line.ts";

const canary = "canary-ü-cus-4711";
const other = "cus-of-another";
const withinMs = 30_000;

forEachDatabase("keys forget", (open, dialect) => {
  let outbox: Outbox & { readonly tablePrefix: string };
  let inbox: Inbox;
  const run = (...args: readonly string[]): Promise<Ran> =>
    ichidoHere(
      { env: { ICHIDO_STORE: open().url, ICHIDO_ACTOR: "ann", ICHIDO_TABLE_PREFIX: outbox.tablePrefix } },
      ...args,
    );
  const forget = (...args: readonly string[]): Promise<Ran> =>
    run("keys", "forget", "--label", `customer=${canary}`, "--yes", "--reason", "request 881", ...args);

  beforeAll(async () => {
    outbox = await openOutbox(open(), { keepSentMs: 3_600_000 });
    inbox = await migrated(open(), { tablePrefix: outbox.tablePrefix });
    expect((await run("migrate")).code).toBe(0);
  }, 60_000);

  const add = (topic: string, customer: string): Promise<unknown> =>
    outbox.transaction((_tx, handle) => outbox.add(handle, { topic, key: customer, payload: { customer } }));

  /** Every row of every table, with bytes as the text that they are. */
  async function everything(): Promise<string> {
    const named = {
      postgres: "select tablename as name from pg_tables where schemaname = 'public'",
      mysql: "select table_name as name from information_schema.tables where table_schema = database()",
      sqlite: "select name from sqlite_master where type = 'table'",
    }[dialect];
    const tables = (await open().query(named)).map(({ name }) => String(name));
    const ours = tables.filter((name) => name.startsWith(outbox.tablePrefix));
    expect(ours.length).toBeGreaterThan(10);
    const texts = await Promise.all(
      ours.map(async (name) => {
        const rows = await open().query(`select * from ${name}`);
        const text = (value: unknown): unknown =>
          value instanceof Uint8Array ? Buffer.from(value).toString("utf8") : value;
        return `${name}: ${JSON.stringify(rows.map((row) => Object.values(row).map(text)))}`;
      }),
    );
    return texts.join("\n");
  }

  test("a customer is in no table afterwards, others are, and the key still refuses other content", async () => {
    const { store, close } = await openAddress(open().url, { tablePrefix: outbox.tablePrefix }, process.cwd(), true);
    onTestFinished(close);
    const scope = { principal: canary };
    const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold", attemptLog: { flushMs: 20 } });
    const request = { operation: "payment.create", scope, key: "key-1", input: 1, labels: { customer: canary } };
    await ichido.run(request, async (ctx) => {
      ctx.resource("payment", canary);
      return ctx.step("bank.charge", () => ({ customer: canary }));
    });
    await ichido.run(request, () => undefined);
    const [record] = (await store.list({ key: "key-1", limit: 1 })).records;
    await store.note({ identity: record?.identity ?? expect.fail(), actor: "bob", action: "look", reason: canary });

    // Notes about no record; the last names another's, which is longer.
    const reasons = [`${canary} called us`, `customer=${canary}`, `${canary}1 called us`];
    for (const reason of reasons) await store.note({ actor: "bob", action: "reveal", reason });
    const noted = async (): Promise<readonly string[]> =>
      (await store.auditLog({ limit: 100 })).entries.flatMap(({ record: about, reason }) => (about ? [] : [reason]));

    const refusing = wire(({ topic, key }) => (topic.startsWith("skip") ? rejected(key) : { outcome: "sent" }));
    const relay = createRelay(outbox, { routes: { wire: refusing, other: refusing }, backoffMs: 1, backoffMsMax: 1 });
    for (const customer of [canary, other]) await add("skip.paid", customer);
    for (const key of [canary, `acme/${canary}`, `acme/${canary}1`]) await add("order.paid", key);
    await eventually(async () => {
      await relay.tick();
      expect(await outbox.stats()).toMatchObject({ dead: 2, pending: 0 });
    }, withinMs);
    await relay.stop();
    const failing = { name: "mailer", topics: ["*"], once: () => Promise.reject(new Error("no mail")) };
    const bed = await consuming(inbox, [failing], { attemptsMax: 1 });
    await bed.deliver(message({ key: canary, payload: { customer: canary } }));
    await bed.deliver(message({ payload: { customer: other } }));
    await ichido.close();

    expect(await everything()).toContain(canary);
    const trial = linesOf((await run("keys", "forget", "--label", `customer=${canary}`, "--dry-run", "--json")).out);
    expect(trial.filter(({ type }) => type === "forgotten-events")).toMatchObject([
      { part: "outbox", letters: 1, waiting: 0, dryRun: true },
      { part: "inbox", letters: 1, waiting: 0, dryRun: true },
    ]);
    expect(await everything()).toContain(canary);

    const done = await forget();
    expect([done.code, done.out]).toEqual([0, expect.stringMatching(/1 of 1 forgotten/)]);
    expect((await noted()).slice(-3)).toEqual(["", "", `${canary}1 called us`]);
    const left = (await everything()).replaceAll(`${canary}1`, "another's");
    expect(left).not.toContain(canary);
    expect(left).toContain("acme/another's");
    expect(left).toContain(other);
    expect([(await outbox.stats()).dead, (await inbox.stats()).dead]).toEqual([1, 1]);

    const again = createIchido({ store, scope: () => scope, onUnknown: "hold", attemptLog: false });
    const otherInput = again.run({ ...request, input: 2 }, () => 2);
    await expect(otherInput).rejects.toMatchObject({ code: "idempotency-key-reused" });
    await again.close();
  }, 120_000);

  test("events that wait are left alone and told with 5, until they have gone", async () => {
    await add("order.sent", canary);
    const early = await forget();
    expect([early.code, early.err]).toEqual([5, expect.stringMatching(/1 event of the outbox waits/)]);
    const broker = wire();
    const relay = createRelay(outbox, { routes: { wire: broker, other: broker } });
    await eventually(async () => {
      await relay.tick();
      expect((await outbox.stats()).pending).toBe(0);
    }, withinMs);
    await relay.stop();
    expect(broker.sent).toHaveLength(1);
    expect((await forget()).code).toBe(0);
    expect((await forget()).code).toBe(4);
    expect((await everything()).replaceAll(`${canary}1`, "")).not.toContain(canary);
  }, 60_000);

  test("reasons of decisions go where they name the customer, and stay where they name a longer id", async () => {
    const reasons = [`${canary} asked`, `\u9867\u5ba2${canary}\u306e\u4f9d\u983c`, `${canary}1 asked`, "no mail yet"];
    const before = (await outbox.stats()).dead;
    for (const _ of reasons) await add("skip.sent", other);
    const refusing = wire(({ key }) => rejected(key));
    const relay = createRelay(outbox, { routes: { wire: refusing, other: refusing }, backoffMs: 1, backoffMsMax: 1 });
    await eventually(async () => {
      await relay.tick();
      expect((await outbox.stats()).dead).toBe(before + reasons.length);
    }, withinMs);
    await relay.stop();
    const { letters } = await outbox.dead.list({ topic: "skip.sent" });
    for (const [index, { seq }] of letters.entries())
      await outbox.dead.discard({ seq, actor: "ann", reason: reasons[index] ?? expect.fail() });
    const told = (): Promise<readonly unknown[]> =>
      Promise.all(letters.map(async ({ seq }) => (await outbox.dead.audit(seq)).map(({ reason }) => reason)));
    expect(await told()).toEqual(reasons.map((reason) => [reason]));
    expect((await forget()).code).toBe(0);
    expect(await told()).toEqual([[""], [""], [`${canary}1 asked`], ["no mail yet"]]);
  }, 60_000);
});
