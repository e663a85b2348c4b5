/** Dead letters and pauses from the command line, on every database that has events. */
import { createRelay, type Outbox } from "ichido/outbox";
import type { Inbox } from "ichido/inbox";
import { beforeAll, expect, test } from "vitest";
import { consuming, writes } from "../events/consumer-bed.ts";
import { forEachDatabase } from "../events/inbox-databases.ts";
import { message, migrated } from "../events/inbox-messages.ts";
import { idsOf, openOutbox, rejected, wire } from "../events/outbox-bed.ts";
import { eventually } from "../support/eventually.ts";
import { ichidoHere, linesOf, type Ran, type Setting } from "./command-line.ts";

const why = ["--reason", "ticket 4711", "--yes"];
/** Long enough for a machine that others use, too. */
const withinMs = 30_000;

forEachDatabase("commands", (open) => {
  let outbox: Outbox & { readonly tablePrefix: string };
  let inbox: Inbox;
  const runAs = (setting: Setting, ...args: readonly string[]): Promise<Ran> =>
    ichidoHere(
      { ...setting, env: { ICHIDO_STORE: open().url, ICHIDO_ACTOR: "ann", ICHIDO_TABLE_PREFIX: outbox.tablePrefix } },
      ...args,
    );
  const run = (...args: readonly string[]): Promise<Ran> => runAs({}, ...args);
  const add = (topic: string, key?: string): Promise<string> =>
    outbox.transaction(
      async (_tx, handle) => (await outbox.add(handle, { topic, payload: { card: "4242" }, ...(key && { key }) })).id,
    );

  const exported = async (part: string): Promise<readonly string[]> =>
    linesOf((await run("audit", "--json")).out).flatMap(({ actor, action, reason }) =>
      String(action).startsWith(part) ? [[actor, action, reason].join(" ")] : [],
    );

  beforeAll(async () => {
    outbox = await openOutbox(open());
    inbox = await migrated(open(), { tablePrefix: outbox.tablePrefix });
    // The audit of the store is the one that is exported.
    expect((await run("migrate")).code).toBe(0);
  }, 60_000);

  test("outbox list, show, replay and discard: what was given up is sent again, or let go, with the audit", async () => {
    const broker = wire(() => rejected("refused"));
    const relay = createRelay(outbox, { routes: { wire: broker, other: broker }, backoffMs: 1, backoffMsMax: 1 });
    const ids = [await add("skip.one"), await add("skip.two")];
    const unsent = await run("why", ids[0] ?? "");
    expect([unsent.code, unsent.out]).toEqual([3, expect.stringMatching(/^event-pending: [^]*not been sent yet/)]);
    await eventually(async () => {
      await relay.tick();
      expect((await outbox.stats()).dead).toBe(2);
    }, withinMs);
    const listed = linesOf((await run("outbox", "list", "--json")).out);
    expect(listed.map(({ type }) => type)).toEqual(["dead-letter", "dead-letter", "outbox"]);
    expect(listed[2]).toMatchObject({ dead: 2, paused: null });
    const [first, second] = listed.map(({ seq }) => String(seq));
    const shown = await run("outbox", "show", first ?? "");
    expect(shown.out).toMatch(/topic +skip\.one[^]*\nError\n/);
    expect(shown.out).not.toMatch(/4242|refused/);
    expect((await run("outbox", "show", "999999")).code).toBe(4);
    expect((await run("outbox", "replay", first ?? "", "--reason", "x")).err).toMatch(/--yes: there is no terminal/);
    expect((await run("outbox", "replay", first ?? "", "--dry-run", "--json")).code).toBe(0);
    expect((await outbox.stats()).dead).toBe(2);
    const replayed = await run("outbox", "replay", first ?? "", "999999", "--json", ...why);
    expect([replayed.code, replayed.err]).toEqual([4, expect.stringMatching(/no dead letter 999999/)]);
    expect((await run("outbox", "discard", second ?? "", ...why)).code).toBe(0);
    broker.answer = () => ({ outcome: "sent" });
    await eventually(async () => {
      await relay.tick();
      expect(idsOf(broker.sent)).toEqual([ids[0]]);
    }, withinMs);
    expect((await run("outbox", "show", second ?? "")).out).toMatch(/discard +ann +ticket 4711/);
    expect(await exported("outbox")).toEqual([
      `ann outbox-replay ticket 4711 (${first} skip.one ${ids[0]})`,
      `ann outbox-discard ticket 4711 (${second} skip.two ${ids[1]})`,
    ]);
    await relay.stop();
  });

  test("outbox pause stops the relays of every process, resume lets them go on in order", async () => {
    const [one, other] = [wire(), wire()];
    const relays = [one, other].map((broker) =>
      createRelay(outbox, { routes: { wire: broker, other: broker }, leaseMs: 300, idleMs: 5, idleMsMax: 20 }),
    );
    for (const relay of relays) await relay.start();
    const sent = (): string[] => idsOf([...one.sent, ...other.sent]);
    const before = await add("order.paid", "a");
    await eventually(() => expect(sent()).toEqual([before]), withinMs);

    expect((await run("outbox", "pause", "--dry-run")).out).toMatch(/would be paused/);
    expect((await run("outbox", "pause", "--json", ...why)).code).toBe(0);
    expect((await run("outbox", "pause", ...why)).out).toBe("it was paused already\n");
    expect((await run("outbox", "list")).err).toMatch(/paused by ann at .*: ticket 4711/);
    // Every relay has renewed its session, and given its lanes back.
    await eventually(async () => {
      const rows = await open().query(
        `SELECT count(*) AS held FROM ${outbox.tablePrefix}outbox_lanes WHERE session IS NOT NULL`,
      );
      expect(Number(rows[0]?.["held"])).toBe(0);
    }, withinMs);
    const waiting = [await add("order.paid", "a"), await add("order.sent", "a"), await add("order.done", "a")];
    const fresh = createRelay(outbox, { routes: { wire: one, other: one }, leaseMs: 300 });
    expect(await fresh.tick()).toMatchObject({ sent: 0 });
    await fresh.stop();
    for (let looks = 0; looks < 3; looks += 1) await new Promise((resolve) => setTimeout(resolve, 120));
    expect(sent()).toEqual([before]);
    expect((await outbox.stats()).pending).toBe(3);

    expect((await run("outbox", "resume", ...why)).code).toBe(0);
    expect((await run("outbox", "resume", ...why)).out).toBe("it was not paused\n");
    await eventually(() => expect(sent().toSorted()).toEqual([before, ...waiting].toSorted()), withinMs);
    const [holder] = [one, other].filter(({ sent: got }) => got.some(({ id }) => id === waiting[0]));
    expect(idsOf(holder?.sent ?? []).filter((id) => id !== before)).toEqual(waiting);
    await Promise.all(relays.map((relay) => relay.stop()));
  });

  test("inbox list, show, replay and discard", async () => {
    const bed = await consuming(
      inbox,
      [{ name: "mailer", topics: ["*"], once: () => Promise.reject(new Error("no mail")) }],
      {
        attemptsMax: 1,
      },
    );
    const [one, two] = [message({ payload: { card: "4242" } }), message()];
    await bed.deliver(one);
    await bed.deliver(two);
    await bed.consumer.stop();
    const listed = linesOf((await run("inbox", "list", "--handler", "mailer", "--json")).out);
    expect(listed.map(({ type }) => type)).toEqual(["dead-letter", "dead-letter", "inbox"]);
    const shown = await run("inbox", "show", "mailer", one.id);
    expect(shown.out).toMatch(/reason +failed[^]*\nError\n/);
    expect(shown.out).not.toMatch(/4242|no mail/);
    expect((await run("inbox", "show", "mailer", "nothing")).code).toBe(4);
    expect((await run("inbox", "list", "--handler", "other")).out).toBe("");
    expect((await run("inbox", "replay", "mailer", one.id, ...why)).code).toBe(0);
    expect((await run("inbox", "replay", "mailer", one.id, ...why)).out).toBe("it is marked already\n");
    expect((await run("inbox", "discard", "mailer", two.id, "--dry-run")).code).toBe(0);
    expect((await run("inbox", "discard", "mailer", two.id, "--json", ...why)).code).toBe(0);
    expect((await run("inbox", "discard", "mailer", two.id, ...why)).code).toBe(4);
    const again = await consuming(inbox, [writes("mailer")], { replayMs: 600_000 });
    await again.consumer.replay();
    expect(again.types()).toEqual(["processed"]);
    expect((await run("inbox", "show", "mailer", two.id)).out).toMatch(/discard +ann/);
    const told = linesOf((await run("why", two.id, "--json")).out)[0];
    expect(told).toMatchObject({ verdict: "event-discarded", severity: "ok" });
    expect(await exported("inbox")).toEqual([
      `ann inbox-replay ticket 4711 (mailer ${one.id})`,
      `ann inbox-discard ticket 4711 (mailer ${two.id})`,
    ]);
  });

  test("inbox discard leaves a letter that somebody lets run again since it was seen, unless that was seen", async () => {
    const failing = { name: "biller", topics: ["*"], once: () => Promise.reject(new Error("no bill")) };
    const bed = await consuming(inbox, [failing], { attemptsMax: 1 });
    const given = message();
    const letter = { handler: "biller", id: given.id };
    await bed.deliver(given);
    await bed.consumer.stop();
    const discard = ["inbox", "discard", "biller", letter.id];
    const state = async (): Promise<string | undefined> => (await inbox.dead.get(letter))?.state;
    // Bob is faster, while ann reads the question.
    const meanwhile = async (): Promise<void> => {
      expect(await inbox.dead.replay({ ...letter, actor: "bob", reason: "mended" })).toBe("ok");
    };
    const asked = await runAs({ columns: 100, answers: ["y", "old"], meanwhile }, ...discard);
    expect([asked.code, await state()]).toEqual([5, "replaying"]);
    expect(asked.err).toMatch(/not as you saw it, dead/);
    for (const more of [why, ["--dry-run"], ["--state", "dead", ...why]])
      expect((await run(...discard, ...more)).code, more.join(" ")).toBe(5);
    expect((await run(...discard, "--state", "gone", ...why)).code).toBe(2);
    expect(await state()).toBe("replaying");
    const no = await runAs({ columns: 100, answers: ["n"] }, ...discard);
    expect([no.code, no.err]).toEqual([130, expect.stringMatching(/about to run again\ndiscard it\?/)]);
    expect((await run(...discard, "--state", "replaying", ...why)).code).toBe(0);
    expect(await state()).toBeUndefined();
  });
});
