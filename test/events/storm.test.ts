/** A small storm with every run; `npm run events:storm -- <broker>` makes the full one. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test, vi } from "vitest";
import { noteProof } from "../support/proof.ts";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { BrokerKind } from "./storm-brokers.ts";
import { storm, summaryOf, type StormReport, type StormSize } from "./storm.ts";

const full = process.env["ICHIDO_STORM"] === "full";
const size: StormSize = full
  ? { events: 10_000, keys: 500, killsMax: 100, withinMs: 1_800_000 }
  : { events: 1_000, keys: 100, killsMax: 2, withinMs: 150_000 };
/** For the databases besides PostgreSQL. */
const smaller: StormSize = { ...size, events: full ? 2_000 : 500, keys: 100 };
/** SQLite is through with fewer before anybody can be killed. */
const enough: StormSize = { ...smaller, events: 2_000 };

vi.setConfig({ testTimeout: size.withinMs + 60_000 });

/** The usual run leaves out what another storm of it covers well enough. */
const brokers: readonly BrokerKind[] = [
  "nats",
  "rabbitmq",
  "redis-streams",
  ...(full ? (["webhook", "in-process"] as const) : []),
];
const onMariadb: readonly BrokerKind[] = full ? ["redis-streams", "in-process"] : ["webhook"];
const onSqlite: readonly BrokerKind[] = full ? ["redis-streams", "in-process"] : ["in-process"];

function expectCalm(title: string, report: StormReport, { events }: StormSize, kind: BrokerKind): void {
  console.log(summaryOf(title, report));
  const { kills, brokerRestarts, duplicates, lost, doubled, inversions, deaths, outboxDead, inboxDead } = report;
  noteProof(`storm-${title.toLowerCase().replaceAll(" ", "-")}`, {
    kind: "storms",
    what: title,
    command: full ? `npm run events:storm -- ${kind}` : "npm test -- test/events/storm.test.ts",
    tried: report.events,
    unit: "events",
    faults: kills + brokerRestarts,
    counts: { kills, "broker restarts": brokerRestarts, "duplicates refused": duplicates },
    violations: lost.length + doubled.length + inversions.length + deaths.length + outboxDead + inboxDead,
  });
  expect(report).toMatchObject({ lost: [], doubled: [], inversions: [], deaths: [], outboxDead: 0, inboxDead: 0 });
  expect(report).toMatchObject({ events, entries: events, pending: 0 });
  // Not vacuous: processes died, and the broker did.
  expect(report.kills).toBeGreaterThan(0);
  expect(report.brokerRestarts).toBe(kind === "in-process" ? 0 : 1);
}

describeWith("postgres", "storm on PostgreSQL", (server) => {
  test.each(brokers)(
    "%s: nothing lost, doubled or out of order while relays, consumers and the broker die",
    async (kind) => {
      await using database = await freshDatabase(server);
      expectCalm(
        `${kind} on PostgreSQL`,
        await storm(kind, { dialect: "postgres", url: database.url }, size),
        size,
        kind,
      );
    },
  );
});

describeWith("mariadb", "storm on MariaDB", (server) => {
  test.each(onMariadb)("mariadb, %s: nothing lost, doubled or out of order", async (kind) => {
    await using database = await freshDatabase(server);
    const report = await storm(kind, { dialect: "mysql", url: database.url }, smaller);
    expectCalm(`${kind} on MariaDB`, report, smaller, kind);
  });
});

describe("storm on SQLite", () => {
  test.each(onSqlite)("sqlite, %s: nothing lost, doubled or out of order", async (kind) => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-storm-"));
    const url = join(folder, "storm.db");
    new DatabaseSync(url).exec("PRAGMA journal_mode = WAL");
    try {
      const report = await storm(kind, { dialect: "sqlite", url }, enough);
      expectCalm(`${kind} on SQLite`, report, enough, kind);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
