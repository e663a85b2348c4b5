/** A person forgets a record that a long transaction holds: nobody else's log waits for that, nor does the server. */
import pg from "pg";
import { postgresStore } from "ichido/postgres";
import { fromPg } from "ichido/transactions";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { eventually } from "../support/eventually.ts";
import { grant, openLife, request } from "./postgres-life.ts";

const waiting =
  "select count(*) from pg_stat_activity where datname = current_database() and state = 'active' and wait_event_type = 'Lock'";

describeWith("postgres", "forgetting a record that is locked", (url) => {
  test("S24 is told that somebody is at work on it, while others are logged and nothing piles up", async () => {
    const life = await openLife(url);
    onTestFinished(() => life.end());
    const { store } = life;
    const failed = await grant(store, request("failed", "a"));
    await store.release(failed);
    // Transaction mode: the next attempt takes the failed record over in its open transaction, and its handler runs there.
    const client = new pg.Client({ connectionString: life.url });
    await client.connect();
    onTestFinished(() => client.end());
    await client.query("begin");
    expect(await store.claim(request("failed", "b"), fromPg(client))).toMatchObject({ outcome: "granted" });

    const forgetting = store.forget({ identity: failed.identity, fence: failed.fence, actor: "ann", reason: "asked" });
    await eventually(async () => expect(Number(await life.ask<string>(waiting))).toBe(1));
    const other = postgresStore(life.newPool(), { callTimeoutMs: 500 });
    onTestFinished(() => other.close());
    const { identity } = request("else", "x");
    const note = { outcome: "in_progress", agoMs: 1, tookMs: 1, keepMs: 86_400_000, number: 1, identity } as const;
    await other.log({ process: "p", suspectWithinMs: 0, notes: [note] });
    expect(await store.attempts(identity)).toHaveLength(1);
    expect(await forgetting).toBe("live");
    expect(Number(await life.ask<string>(waiting))).toBe(0);
    await client.query("rollback");
    expect(await store.forget({ identity: failed.identity, fence: failed.fence, actor: "ann", reason: "asked" })).toBe(
      "ok",
    );
  });
});
