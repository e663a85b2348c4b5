/** The commands of operations on every shared store, as a person and as a program uses them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { describeWith, freshDatabase, uniqueName, type FreshDatabase } from "../support/services.ts";
import { ichidoHere, linesOf, type Ran } from "./command-line.ts";
import { seed, type Seeded } from "./seed.ts";

interface Given {
  readonly address: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly hasTables: boolean;
}

const why = ["--reason", "ticket 4711"];

function suite(prepare: () => Promise<Given>): void {
  let given: Given;
  let seeded: Seeded;
  const all: Ran[] = [];
  const run = async (...args: readonly string[]): Promise<Ran> => {
    const ran = await ichidoHere({ env: { ICHIDO_ACTOR: "ann", ...given.env, ICHIDO_STORE: given.address } }, ...args);
    if (!args.includes("--reveal")) all.push(ran);
    return ran;
  };
  const record = async (key: string) =>
    linesOf((await run("keys", "show", key, "--json")).out)[0] as { id: string; fence: number; state: string };

  beforeAll(async () => {
    given = await prepare();
  }, 120_000);
  afterAll(async () => {
    await seeded?.close();
  });

  it("status tells what is missing with 3, migrate adds it, plan has nothing more", async () => {
    if (!given.hasTables) {
      const status = await run("status");
      expect([status.code, status.err]).toEqual([0, "redis needs no tables\n"]);
      return;
    }
    // A SQLite file that is not there is not made by a look.
    const before = await run("status");
    expect(before.code).toBe(given.address.includes("://") ? 3 : 6);
    const trial = await run("migrate", "--dry-run");
    expect(trial.code).toBe(given.address.includes("://") ? 0 : 6);
    const parts = ["--part", "records", "--part", "outbox", "--part", "inbox"];
    const migrated = await run("migrate", "--json", ...parts);
    expect(migrated.code).toBe(0);
    expect(linesOf(migrated.out).length).toBeGreaterThan(3);
    expect((await run("status", ...parts)).code).toBe(0);
    const plan = await run("plan", ...parts);
    expect([plan.code, plan.out, plan.err]).toEqual([0, "", "the tables are up to date\n"]);
    expect((await run("audit")).out).toMatch(/migrate +ann +ichido migrate: records 1/);
  });

  it("doctor finds no error in a right set-up, and says so", async () => {
    const { code, out } = await run("doctor", "--fail-on", "error", "--json");
    expect(linesOf(out).filter(({ severity }) => severity === "error")).toEqual([]);
    expect([code, linesOf(out).at(-1)]).toEqual([0, expect.objectContaining({ type: "summary", ok: true })]);
  });

  it("keys list finds by state, label and resource, and nothing by what is not there", async () => {
    seeded = await seed(given.address, { tablePrefix: given.env?.["ICHIDO_TABLE_PREFIX"] });
    const listed = await run("keys", "list", "--label", "customer=42");
    expect(listed.code).toBe(0);
    expect(listed.out.trimEnd().split("\n")).toHaveLength(6);
    const unknown = linesOf((await run("keys", "list", "--state", "unknown", "--json")).out);
    expect(unknown.map(({ type }) => type)).toEqual(["record", "record", "page"]);
    const made = linesOf((await run("keys", "list", "--resource", "payment=pay_9", "--json")).out);
    expect(made[0]).toMatchObject({ type: "record", state: "completed", operation: "payment.create" });
    for (const filter of [
      ["--label", "customer=43"],
      ["--operation", "other"],
      ["--tenant", "other"],
    ])
      expect(await run("keys", "list", ...filter)).toEqual({ code: 0, out: "", err: "no record matches\n" });
    const some = linesOf((await run("keys", "list", "--limit", "2", "--json")).out);
    expect(some.map(({ type, more }) => [type, more])).toEqual([
      ["record", undefined],
      ["record", undefined],
      ["page", true],
    ]);
    expect(linesOf((await run("keys", "list", "--limit", "5", "--json")).out)[5]).toMatchObject({
      records: 5,
      more: false,
    });
  });

  it("keys show tells all that is known, by key or by id, and 4 where there is nothing", async () => {
    const byKey = await run("keys", "show", seeded.paid);
    expect(byKey.out).toMatch(/state +completed/);
    expect(byKey.out).toMatch(/payment +pay_9/);
    expect(byKey.out).toMatch(/executed[^]*replayed/);
    const { id } = await record(seeded.stuck);
    const byId = await run("keys", "show", id);
    expect(byId.out).toMatch(/unknown \(hold\)[^]*bank\.charge +started/);
    expect((await run("keys", "show", "no-such-key")).code).toBe(4);
    expect((await run("keys", "show", seeded.paid, "--operation", "other")).code).toBe(4);
  });

  it("--reveal shows key and answer, after the audit has a note of it", async () => {
    expect((await run("keys", "show", seeded.paid, "--reveal")).code).toBe(2);
    const shown = await run("keys", "show", seeded.paid, "--reveal", ...why);
    expect(shown.out).toContain(seeded.paid);
    expect(shown.out).toMatch(/body +\{"secret":"secret-/);
    const { id } = await record(seeded.paid);
    expect(linesOf((await run("audit", "--json")).out).at(-1)).toMatchObject({
      actor: "ann",
      action: "reveal",
      reason: "ticket 4711",
      record: id,
    });
  });

  it("why tells one verdict from a key, a label or a resource, and 4 where nothing is known", async () => {
    const once = await run("why", "pay_9", "--json");
    expect(linesOf(once.out)[0]).toMatchObject({ type: "verdict", verdict: "one-effect", keys: [{ replays: 1 }] });
    expect(once.code).toBe(0);
    // What a person types to settle it is told with the verdict.
    expect(JSON.stringify(linesOf(once.out)[0])).toContain(`"id":"${(await record(seeded.paid)).id}"`);
    const open = await run("why", seeded.stuck);
    expect([open.code, open.out]).toEqual([
      3,
      expect.stringMatching(/^not-known: outcome unknown[^]*bank\.charge started[^]*next +/),
    ]);
    expect((await run("why", "order=o9", "--md")).out).toMatch(/^\*\*[\w-]+\*\*: [^]*\n\| At \| Key \| What \|\n/);
    expect((await run("why", "nobody")).code).toBe(4);
    expect((await run("why")).code).toBe(2);
    expect((await run("why", "--amount", "42")).err).toMatch(/--at: an amount needs a time/);
    expect((await run("why", "pay_9", "--at", "14:05")).err).toMatch(/--at: it is the time of an --amount/);
    const { id } = await record(seeded.paid);
    expect(linesOf((await run("why", id, "--json")).out)[0]).toMatchObject({ verdict: "one-effect", keys: [{ id }] });
    expect((await run("why", "@0123456789ab")).code).toBe(4);
  });

  it("keys settle needs a fence, refuses another one with 5, and an owner at work", async () => {
    const { id, fence } = await record(seeded.stuck);
    const adopt = ["keys", "settle", id, "adopt", "--status", "201", "--body", '{"id":"ch_9"}', ...why];
    expect((await run(...adopt)).err).toMatch(/--fence: there is no terminal/);
    expect((await run(...adopt, "--fence", String(fence - 1))).code).toBe(5);
    const trial = await run(...adopt, "--dry-run", "--json");
    expect(linesOf(trial.out)[0]).toMatchObject({ type: "settled", dryRun: true, state: "unknown" });
    const live = await record(seeded.running);
    const refused = await run("keys", "settle", live.id, "hold", "--fence", String(live.fence), ...why);
    expect([refused.code, refused.err]).toEqual([5, expect.stringMatching(/an owner is at work/)]);
    expect(
      (await run("keys", "settle", seeded.paid, "hold", "--fence", String((await record(seeded.paid)).fence), ...why))
        .code,
    ).toBe(5);
    expect((await record(seeded.stuck)).state).toBe("unknown");
  });

  it("keys settle adopt gives callers the answer, release lets one run again", async () => {
    const { id, fence } = await record(seeded.stuck);
    const adopt = ["keys", "settle", id, "adopt", "--status", "200", "--body", '{"id":"ch_9"}', ...why];
    expect(await run(...adopt, "--fence", String(fence), "--json")).toMatchObject({ code: 0, err: "" });
    expect(await seeded.again(seeded.stuck)).toEqual({ id: "ch_9" });
    const lost = await record(seeded.lost);
    const release = ["keys", "settle", lost.id, "release", "--fence", String(lost.fence), ...why];
    expect((await run(...release)).code).toBe(5);
    expect((await run(...release, "--i-checked-the-provider")).code).toBe(0);
    expect(await seeded.again(seeded.lost)).toBe("ran again");
    expect((await run("audit")).out).toMatch(/adopt +ann[^]*release +ann/);
  });

  it("keys tail prints what was asked, and ends with --once", async () => {
    const { code, out } = await run("keys", "tail", "--once", "--since", "1h", "--json");
    expect(code).toBe(0);
    expect(linesOf(out).map(({ outcome }) => outcome)).toEqual(expect.arrayContaining(["executed", "replayed"]));
    const some = await run("keys", "tail", "--once", "--since", "1h", "--outcome", "replayed");
    expect(some.out).toMatch(/replayed/);
    expect(some.out).not.toMatch(/executed/);
  });

  it("stats counts, sweep removes nothing that is not past its time", async () => {
    const stats = linesOf((await run("stats", "--json")).out)[0];
    expect(stats).toMatchObject({ type: "stats", records: { records: 5, unknown: 0, processing: 1 } });
    expect((await run("sweep", "--dry-run")).out).toMatch(/nothing of 5 records/);
    expect((await run("sweep", ...why)).code).toBe(0);
    expect(linesOf((await run("stats", "--json")).out)[0]).toMatchObject({ records: { records: 5 } });
  });

  it("keys forget erases what matches and keeps the fact; what is at work is told with 5", async () => {
    expect((await run("keys", "forget", "--label", "customer=43", "--yes", ...why)).code).toBe(4);
    expect((await run("keys", "forget", "--yes", ...why)).code).toBe(2);
    expect((await run("keys", "forget", "--label", "customer=42", "--dry-run", "--json")).code).toBe(0);
    expect((await run("keys", "forget", "--label", "customer=42", "--yes", "--reason", "customer 42")).code).toBe(2);
    const forgotten = await run("keys", "forget", "--label", "customer=42", "--yes", ...why);
    expect([forgotten.code, forgotten.out, forgotten.err]).toEqual([
      5,
      expect.stringMatching(/4 of 5 forgotten/),
      expect.stringMatching(/1 left alone: @\w+ is at work/),
    ]);
    const shown = await run("keys", "show", seeded.paid, "--reveal", ...why);
    expect(shown.out).not.toMatch(/secret-|customer=42|pay_9/);
  });

  it("no key and no secret was in any output without --reveal", () => {
    const said = all.map(({ out, err }) => out + err).join("\n");
    expect(all.length).toBeGreaterThan(30);
    const encoded = (secret: string): readonly string[] => [
      secret,
      Buffer.from(secret).toString("base64url").slice(0, -2),
    ];
    expect(seeded.secrets.flatMap(encoded).filter((secret) => said.includes(secret))).toEqual([]);
  });
}

describe("SQLite", () => {
  const folder = mkdtempSync(join(tmpdir(), "ichido-cli-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  suite(async () => ({ address: join(folder, "keys.db"), hasTables: true }));
  it("doctor is content", async () => {
    const told = await ichidoHere({}, "doctor", "--store", join(folder, "keys.db"));
    expect(told).toEqual({ code: 0, out: "all that was looked at is right\n", err: "" });
  });
});

for (const [service, title] of [
  ["postgres", "PostgreSQL"],
  ["mariadb", "MariaDB"],
] as const) {
  describeWith(service, title, (url) => {
    let database: FreshDatabase;
    afterAll(() => database?.drop());
    suite(async () => {
      database = await freshDatabase(url);
      return { address: database.url, hasTables: true };
    });
  });
}

describeWith("redis", "Redis", (url) => {
  suite(async () => ({ address: url, env: { ICHIDO_TABLE_PREFIX: `${uniqueName("cli")}:` }, hasTables: false }));
});
