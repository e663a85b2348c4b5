/** 1,000 keys and secrets lie in records, dead letters and the audit: no command shows one of them without `--reveal`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createIchido } from "ichido";
import { createInbox } from "ichido/inbox";
import { createOutbox, createRelay } from "ichido/outbox";
import { openSqliteStore } from "ichido/sqlite";
import { nodeSqliteTransactions } from "ichido/transactions";
import { afterAll, expect, test } from "vitest";
import { consuming } from "../events/consumer-bed.ts";
import { message } from "../events/inbox-messages.ts";
import { rejected, wire } from "../events/outbox-bed.ts";
import { makeCanaries, type CanaryCall } from "../support/canaries.ts";
import { eventually } from "../support/eventually.ts";
import { ichidoHere, linesOf, type Ran, type Setting } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-canaries-"));
const address = join(folder, "own.db");
const canaries = makeCanaries(250);
const why = ["--reason", "ticket 4711"];
const all: Ran[] = [];

async function run(setting: Setting, ...args: readonly string[]): Promise<Ran> {
  const ran = await ichidoHere({ ...setting, env: { ICHIDO_STORE: address, ICHIDO_ACTOR: "ann" } }, ...args);
  if (!args.includes("--reveal")) all.push(ran);
  return ran;
}

/** A third is paid and asked again, a third is in doubt, a third failed; a key each is in its own label and resource. */
async function seedRecords(): Promise<void> {
  const store = await openSqliteStore(address);
  const scope = { principal: "p" };
  const ichido = createIchido({ store, scope: () => scope, onUnknown: "hold", attemptLog: { flushMs: 20 } });
  async function one({ key, secret, header, customer }: CanaryCall, index: number): Promise<void> {
    const request = { operation: "payment.create", scope, key, input: secret, labels: { order: key, batch: "b1" } };
    const onUnknown = index % 3 === 2 ? "rerun" : "hold";
    await ichido
      .run({ ...request, onUnknown }, async (ctx) => {
        ctx.resource("order", `order of ${key}`);
        if (index % 3 !== 2) await ctx.step("bank.look", () => ({ header }));
        if (index % 3 !== 0) throw new Error(`${key} ${secret} ${header} ${customer}`);
        return { secret, customer };
      })
      .catch(() => undefined);
    if (index % 3 === 0) await ichido.run({ ...request, onUnknown }, () => undefined);
    const [record] = (await store.list({ key, limit: 1 })).records;
    const { identity } = record ?? expect.fail();
    await store.note({ identity, actor: "bob", action: "look", reason: `the caller says ${key}` });
    if (index % 3 === 1)
      await store.settle({
        identity,
        fence: record?.fence ?? 0,
        actor: "bob",
        reason: `held: ${key}`,
        decision: { kind: "hold" },
      });
  }
  await Promise.all(canaries.calls.map(one));
  await ichido.close();
  await store.close();
}

/** Letters whose handler and broker quote what they got. */
async function seedLetters(): Promise<void> {
  const database = new DatabaseSync(address);
  const transactions = nodeSqliteTransactions(database);
  const outbox = createOutbox({
    transactions,
    source: "/shop",
    topics: { "*": { to: "wire", onDead: "skip", attemptsMax: 1 } },
  });
  const inbox = createInbox({ transactions, retentionMs: 14 * 86_400_000 });
  await outbox.migrate();
  await inbox.migrate();
  for (const { key, secret, header, customer } of canaries.calls)
    await outbox.transaction((_tx, handle) =>
      outbox.add(handle, { topic: "paid", payload: { secret, key, customer }, headers: { header } }),
    );
  const quoting = wire(({ payload, headers }) => rejected(`${new TextDecoder().decode(payload)} ${headers["header"]}`));
  const relay = createRelay(outbox, { routes: { wire: quoting }, backoffMs: 1, backoffMsMax: 1 });
  await eventually(async () => {
    await relay.tick();
    expect((await outbox.stats()).dead).toBe(canaries.calls.length);
  }, 60_000);
  await relay.stop();
  const once = (_tx: unknown, { payload }: { readonly payload: unknown }): Promise<never> =>
    // eslint-disable-next-line typescript/prefer-promise-reject-errors -- a handler may throw a text
    Promise.reject(
      (payload as CanaryCall).key.startsWith("8") ? (payload as CanaryCall).key : new Error(JSON.stringify(payload)),
    );
  const bed = await consuming(inbox, [{ name: "mailer", topics: ["*"], once: once as never }], { attemptsMax: 1 });
  for (const { header, ...payload } of canaries.calls) await bed.deliver(message({ payload, headers: { header } }));
  await bed.consumer.stop();
  expect((await inbox.stats()).dead).toBe(canaries.calls.length);
  database.close();
}

afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("no key, label that is one, body, header, payload and error that quotes them is shown without --reveal", async () => {
  expect(canaries.count).toBe(1_000);
  expect((await run({}, "migrate")).code).toBe(0);
  await seedRecords();
  await seedLetters();
  const tables = [
    ["keys", "list", "--limit", "1000"],
    ["keys", "list", "--state", "unknown"],
    ["keys", "tail", "--since", "1h", "--once"],
    ["keys", "forget", "--label", "batch=b1", "--dry-run"],
    ["outbox", "list", "--limit", "1000"],
    ["inbox", "list", "--limit", "1000"],
    ["audit"],
    ["stats"],
    ["sweep", "--dry-run"],
    ["status"],
    ["plan"],
    ["doctor"],
    ["why", "batch=b1"],
    ["why", "no such thing"],
  ];
  for (const args of tables) {
    await run({}, ...args);
    await run({ columns: 400 }, ...args);
    await run({}, ...args, "--json");
  }
  await run({}, "why", "batch=b1", "--md");
  const listed = linesOf((await run({}, "keys", "list", "--limit", "1000", "--json")).out);
  const ids = listed.flatMap(({ id }) => (typeof id === "string" ? [id] : []));
  expect(ids).toHaveLength(250);
  const letters = linesOf((await run({}, "inbox", "list", "--limit", "1000", "--json")).out);
  const messages = letters.flatMap(({ message: sent }) => (sent === undefined ? [] : [(sent as { id: string }).id]));
  const seqs = linesOf((await run({}, "outbox", "list", "--limit", "1000", "--json")).out).flatMap(({ seq }) =>
    typeof seq === "number" ? [String(seq)] : [],
  );
  expect([messages.length, seqs.length]).toEqual([250, 250]);
  // Lists have all of them; of what shows one, a part of each kind.
  for (const [index, id] of ids.slice(0, 60).entries()) {
    const form = index % 2 === 0 ? [] : ["--json"];
    await run({}, "keys", "show", id, ...form);
    await run({}, "why", id, ...(index % 3 === 0 ? ["--md"] : form));
    await run({}, "inbox", "show", "mailer", messages[index] ?? "", ...form);
    await run({}, "outbox", "show", seqs[index] ?? "", ...form);
    await run({}, "why", messages[index] ?? "", ...form);
  }
  for (const [index, id] of ids.slice(0, 10).entries()) {
    const no = { columns: 400, answers: ["n"] };
    await run(no, "inbox", "discard", "mailer", messages[index] ?? "");
    await run(no, "inbox", "replay", "mailer", messages[index] ?? "");
    await run(no, "outbox", "discard", seqs[index] ?? "");
    await run(no, "keys", "settle", id, "hold");
    await run({}, "keys", "settle", id, "hold", "--dry-run");
    await run(no, "keys", "forget", id);
  }
  const found = all.flatMap(({ out, err }) => canaries.foundIn(out + err));
  expect(found.length, "outputs that show one").toBe(0);
  expect(all.length).toBeGreaterThan(300);
}, 300_000);

test("with --reveal they are shown, and the audit says who looked", async () => {
  const [call] = canaries.calls;
  const { key, secret } = call ?? expect.fail();
  const shown = await run({}, "keys", "show", key, "--reveal", ...why);
  expect(shown.out).toContain(secret);
  expect(shown.out).toMatch(new RegExp(`labels +.*order=${key}`));
  const tail = await run({ columns: 200 }, "keys", "tail", "--since", "1h", "--once", "--reveal", ...why);
  expect(canaries.foundIn(tail.out)).toHaveLength(250);
  const [letter] = linesOf((await run({}, "inbox", "list", "--limit", "1", "--json")).out);
  const { id } = (letter ?? expect.fail())["message"] as { id: string };
  expect(
    canaries.foundIn((await run({}, "inbox", "show", "mailer", id, "--reveal", ...why)).out).length,
  ).toBeGreaterThan(2);
  expect((await run({}, "audit")).out.match(/reveal +ann/g)).toHaveLength(3);
});
