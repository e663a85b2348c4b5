/** Messages whose transactions share a commit: what one of them spoils is nobody else's fault. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Inbox } from "ichido/inbox";
import { nodeSqliteTransactions } from "ichido/transactions";
import { afterAll, beforeAll, expect, test } from "vitest";
import { inboxOn, message } from "./inbox-messages.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-inbox-"));
const database = new DatabaseSync(join(folder, "shop.db"));
let inbox: Inbox;

beforeAll(async () => {
  inbox = inboxOn(nodeSqliteTransactions(database, { shareCommits: true }));
  await inbox.migrate();
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("CREATE TABLE effects (id integer PRIMARY KEY)");
  database.exec("CREATE TABLE orphans (parent integer REFERENCES effects (id) DEFERRABLE INITIALLY DEFERRED)");
});
afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true, force: true });
});

test("a commit that fails for a neighbour is an outage to those who shared it, and is made good by a redelivery", async () => {
  const handlers = [
    () => database.exec("INSERT INTO effects VALUES (1)"),
    () => {
      if (database.prepare("SELECT 1 FROM effects").all().length > 0) throw new RangeError("taken");
    },
    () => database.exec("INSERT INTO orphans VALUES (77)"),
  ];
  let codes: (string | undefined)[] = [];
  let messages = handlers.map(() => message());
  // A busy moment makes them commit one by one, and then there is nothing to see.
  for (let round = 0; round < 20 && codes[0] !== "store-unavailable"; round += 1) {
    await sleep(1_100);
    database.exec("DELETE FROM effects");
    messages = handlers.map(() => message());
    const ends = await Promise.allSettled(
      messages.map((each, place) => inbox.runOnce(each, "stock", async () => handlers[place]?.())),
    );
    codes = ends.map((end) => (end.status === "rejected" ? (end.reason as { code?: string }).code : "done"));
  }
  expect(codes).toEqual(["store-unavailable", "store-unavailable", "store-unavailable"]);
  expect(database.prepare("SELECT * FROM effects").all()).toEqual([]);
  for (const each of messages.slice(0, 2)) {
    expect(await inbox.runOnce(each, "stock", async () => {}, { redelivered: true })).toEqual({ outcome: "processed" });
  }
});
