/** Claims and completions that travel together: what a group costs, and that its members never share a fate. */
import { mysqlStore, type MysqlPool } from "ichido/mysql";
import { sampleFingerprint, sampleResponse } from "ichido/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import type { FreshDatabase } from "../support/services.ts";
import { drivers, emptyTables, intercepted, migrated, openClient } from "./mysql-clients.ts";
import type { Client } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);

describeWith("mariadb", "groups of the mysql store", (url) => {
  describe.each(drivers)("%s", (driver) => {
    let database: FreshDatabase;
    let client: Client;
    let store: ReturnType<typeof mysqlStore>;
    const sent: string[] = [];
    beforeAll(async () => {
      database = await freshDatabase(url);
      client = openClient(driver, database.url);
      await migrated(client);
    });
    afterAll(async () => {
      await client.end();
      await database.drop();
    });
    beforeEach(async () => {
      await emptyTables(client);
      store = mysqlStore(intercepted(client.pool, (sql) => void sent.push(sql)));
      await store.stats();
      sent.length = 0;
    });

    /**
     * The server does what it was asked, and its answer is lost: once, to the first statement that looks so. Not to what
     * the store asks when it is made.
     */
    async function losing(form: RegExp): Promise<{ readonly store: typeof store; readonly lost: string[] }> {
      const lost: string[] = ["not yet"];
      const pool: MysqlPool = {
        async getConnection() {
          const connection = await client.pool.getConnection();
          return {
            async query(query, values) {
              const answer = await connection.query(query, values);
              if (lost.length > 0 || !form.test(query.sql)) return answer;
              lost.push(query.sql);
              throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET", fatal: true });
            },
            release: () => connection.release(),
            destroy: () => connection.destroy(),
          };
        },
      };
      const made = mysqlStore(pool);
      await made.stats();
      lost.length = 0;
      return { store: made, lost };
    }

    test("S1 twenty new records take two statements, their completions one, their replays one", async () => {
      const claims = await Promise.all(keys.map((key) => granted(store, request(key, `owner-${key}`))));
      expect(sent.map((sql) => /select|insert/.exec(sql)?.[0])).toEqual(["select", "insert"]);
      expect(new Set(claims.map(({ identity }) => identity.key)).size).toBe(20);

      sent.length = 0;
      const completed = claims.map((claim, index) => {
        const body = new TextEncoder().encode(`answer ${index} of ${claim.identity.key}`);
        return store.complete({ ...claim, response: { ...sampleResponse(), body } });
      });
      expect(await Promise.all(completed)).toEqual(keys.map(() => "ok"));
      expect(sent).toHaveLength(1);

      sent.length = 0;
      const replays = await Promise.all(keys.map((key) => store.claim(request(key, "another"))));
      expect(sent).toHaveLength(1);
      for (const [index, replay] of replays.entries()) {
        if (replay.outcome !== "completed") throw new Error(`${replay.outcome} instead of a replay`);
        expect(new TextDecoder().decode(replay.response.body)).toBe(`answer ${index} of key-${index}`);
      }
    });

    test("S2 S3 each member of a group gets its own answer: new, replayed, in flight, mismatch, taken over", async () => {
      const done = await granted(store, request("done", "a"));
      await store.complete({ ...done, response: sampleResponse() });
      await granted(store, request("busy", "a"));
      const failed = await granted(store, request("failed", "a"));
      await store.release(failed);
      const other = { fingerprint: sampleFingerprint("other") };
      const answers = await Promise.all([
        store.claim(request("new", "b")),
        store.claim(request("done", "b")),
        store.claim(request("busy", "b")),
        store.claim(request("failed", "b")),
        store.claim(request("done", "c", other)),
      ]);
      expect(answers.map(({ outcome }) => outcome)).toEqual([
        "granted",
        "completed",
        "processing",
        "granted",
        "mismatch",
      ]);
      expect(answers[3]).toMatchObject({ origin: "failed", attempt: 2 });
    });

    /** Claims that met no record: the next group inserts at once. */
    async function afterNewOnes(asked = store): Promise<void> {
      await Promise.all(keys.map((key) => granted(asked, request(`former-${key}`, `owner-${key}`))));
      sent.length = 0;
    }

    test("S1 after new records the next ones take one statement, until claims meet records again", async () => {
      await afterNewOnes();
      const claims = await Promise.all(keys.map((key) => granted(store, request(key, `owner-${key}`))));
      expect(sent.map((sql) => /select|insert/.exec(sql)?.[0])).toEqual(["insert"]);
      await Promise.all(claims.map((claim) => store.complete({ ...claim, response: sampleResponse() })));

      sent.length = 0;
      const statements = async (): Promise<readonly (string | undefined)[]> => {
        sent.length = 0;
        const answers = await Promise.all(keys.map((key) => store.claim(request(key, "another"))));
        expect(new Set(answers.map(({ outcome }) => outcome))).toEqual(new Set(["completed"]));
        return sent.map((sql) => /select|insert/.exec(sql)?.[0]);
      };
      expect(await statements()).toEqual(["insert"]);
      expect(await statements()).toEqual(["select"]);
    });

    test("S2 S3 S4 a group that inserts at once answers those that meet a record", async () => {
      const done = await granted(store, request("done", "a"));
      const response = { ...sampleResponse(), body: new TextEncoder().encode("the answer") };
      await store.complete({ ...done, response });
      const busy = await granted(store, request("busy", "a"));
      await store.release(await granted(store, request("failed", "a")));
      await afterNewOnes();
      const answers = await Promise.all([
        ...keys.map((key) => store.claim(request(key, "b"))),
        store.claim(request("done", "b")),
        store.claim(request("busy", "b")),
        store.claim(request("failed", "b")),
      ]);
      expect(sent[0]).toMatch(/insert into ichido_records/);
      expect(answers.slice(20)).toMatchObject([
        { outcome: "completed", response },
        { outcome: "processing" },
        { outcome: "granted", origin: "failed", attempt: 2 },
      ]);
      const again = await Promise.all([
        store.claim(request("busy", "a", { leaseMs: 60_000 })),
        ...keys.map((key) => store.claim(request(`later-${key}`, "b"))),
      ]);
      expect(again[0]).toMatchObject({ outcome: "granted", origin: "new", fence: busy.fence });
      const [{ ahead } = {}] = await client.rows(
        "select lease_us - updated_us as ahead from ichido_records where `key` = 'busy'",
      );
      expect(Number(ahead)).toBeGreaterThan(50_000_000);
    });

    test("S5 completions of one owner in one moment are each told their own answer", async () => {
      const claims = await Promise.all(keys.map((key) => granted(store, request(key, "one owner"))));
      const stored = claims.map((claim) => {
        const body = new TextEncoder().encode(claim.identity.key);
        return store.complete({ ...claim, response: { ...sampleResponse(), body } });
      });
      expect(await Promise.all(stored)).toEqual(keys.map(() => "ok"));
      for (const key of keys) {
        const replay = await store.claim(request(key, "another"));
        if (replay.outcome !== "completed") throw new Error(`${replay.outcome} instead of a replay`);
        expect(new TextDecoder().decode(replay.response.body)).toBe(key);
      }
    });

    test("S1 of two processes that claim the same twenty keys at once, each key has one owner", async () => {
      const second = openClient(driver, database.url);
      const rival = mysqlStore(second.pool);
      await rival.stats();
      for (let round = 0; round < 5; round += 1) {
        const asked = keys.map((key) => `${round}-${key}`);
        const [ours, theirs] = await Promise.all([
          Promise.all(asked.map((key) => store.claim(request(key, `ours-${key}`)))),
          Promise.all(asked.toReversed().map((key) => rival.claim(request(key, `theirs-${key}`)))),
        ]);
        const outcomes = asked.map((_, index) => [ours[index]?.outcome, theirs[asked.length - 1 - index]?.outcome]);
        for (const pair of outcomes) expect(new Set(pair)).toEqual(new Set(["granted", "processing"]));
      }
      await second.end();
    });

    test("S2 the reply of a group's insert is lost: each member is granted once, and told so", async () => {
      const { store: losingStore, lost } = await losing(/insert into ichido_records/);
      const answers = await Promise.all(keys.map((key) => losingStore.claim(request(key, `owner-${key}`))));
      expect(lost).toHaveLength(1);
      for (const answer of answers) expect(answer).toMatchObject({ outcome: "granted", attempt: 1, origin: "new" });
      const [{ found } = {}] = await client.rows("select count(*) as found from ichido_records where attempts = 1");
      expect(Number(found)).toBe(20);
    });

    test("S7 the reply of a group's completions is lost: all are found to be stored", async () => {
      const claims = await Promise.all(keys.map((key) => granted(store, request(key, `owner-${key}`))));
      const { store: losingStore, lost } = await losing(/update ichido_records force index/);
      const stored = claims.map((claim) => losingStore.complete({ ...claim, response: sampleResponse() }));
      expect(await Promise.all(stored)).toEqual(keys.map(() => "ok"));
      expect(lost).toHaveLength(1);
    });

    test("S5 one completion of a group is stale, the others are stored", async () => {
      const claims = await Promise.all(keys.map((key) => granted(store, request(key, `owner-${key}`))));
      const [first] = claims;
      await store.release(first ?? expect.unreachable());
      await granted(store, request(keys[0] ?? "", "next"));
      const stored = await Promise.all(claims.map((claim) => store.complete({ ...claim, response: sampleResponse() })));
      expect(stored).toEqual(keys.map((_, index) => (index === 0 ? "stale" : "ok")));
    });

    test("a member that its columns cannot hold is refused by name, the others are claimed", async () => {
      const long = request("x".repeat(2_000), "owner");
      const answers = await Promise.allSettled([
        store.claim(long),
        ...keys.map((key) => store.claim(request(key, "o"))),
      ]);
      expect(answers[0]).toMatchObject({ status: "rejected", reason: { code: "option-invalid" } });
      expect(answers.slice(1).map(({ status }) => status)).toEqual(keys.map(() => "fulfilled"));
    });

    test.each([/^never$/, /^\s*set statement .* insert into ichido_records/, /insert into ichido_labels/])(
      "labels of a group's records are found, where the reply to %s is lost",
      async (form) => {
        const { store: losingStore } = await losing(form);
        const claims = await Promise.all(
          keys.map((key) => granted(losingStore, request(key, "o", { labels: { order: `of ${key}` } }))),
        );
        await Promise.all(claims.map((claim) => store.complete({ ...claim, response: sampleResponse() })));
        for (const key of keys) {
          const { records } = await store.list({ label: { name: "order", value: `of ${key}` }, limit: 10 });
          expect(records.map(({ identity }) => identity.key)).toEqual([key]);
        }
      },
    );

    test("labels of twenty new records take one statement", async () => {
      await Promise.all(keys.map((key) => granted(store, request(key, "o", { labels: { order: `of ${key}` } }))));
      expect(sent.filter((sql) => /insert into ichido_labels/.test(sql))).toHaveLength(1);
    });

    test("S5 a row that somebody has locked holds up its own completion alone", async () => {
      const claims = await Promise.all(keys.map((key) => granted(store, request(key, `owner-${key}`))));
      const holder = await client.pool.getConnection();
      const ask = (sql: string): Promise<unknown> => holder.query({ sql } as never, []);
      await ask("begin");
      await ask("select 1 from ichido_records where `key` = 'key-7' for update");
      const hasty = mysqlStore(client.pool, { callTimeoutMs: 3_000 });
      await hasty.stats();
      const stored = await Promise.allSettled(
        claims.map((claim) => hasty.complete({ ...claim, response: sampleResponse() })),
      );
      await ask("rollback");
      holder.release();
      expect(stored.map(({ status }) => status)).toEqual(
        keys.map((key) => (key === "key-7" ? "rejected" : "fulfilled")),
      );
    });

    test("S1 a place that somebody has locked holds up the claim of that place alone", async () => {
      const done = await Promise.all(keys.slice(0, 10).map((key) => granted(store, request(key, `owner-${key}`))));
      await Promise.all(done.map((claim) => store.complete({ ...claim, response: sampleResponse() })));
      const holder = await client.pool.getConnection();
      const ask = (sql: string): Promise<unknown> => holder.query({ sql } as never, []);
      await ask("set session transaction isolation level repeatable read");
      await ask("begin");
      await ask("select 1 from ichido_records where `key` > 'place' and `key` < 'placf' for update");
      const hasty = mysqlStore(client.pool, { callTimeoutMs: 3_000 });
      await hasty.stats();
      const asked = [...keys, "place-1"];
      const answers = await Promise.allSettled(asked.map((key) => hasty.claim(request(key, "new"))));
      await ask("rollback");
      holder.release();
      const outcomes = answers.map((each) => (each.status === "fulfilled" ? each.value.outcome : each.status));
      expect(outcomes).toEqual(
        asked.map((key, index) => (key === "place-1" ? "rejected" : index < 10 ? "completed" : "granted")),
      );
    });

    test("S1 a record that somebody has locked holds up no claim of a group that inserts at once", async () => {
      const done = await granted(store, request("done", "a"));
      await store.complete({ ...done, response: sampleResponse() });
      const holder = await client.pool.getConnection();
      const ask = (sql: string): Promise<unknown> => holder.query({ sql } as never, []);
      // The record alone, not the places around it.
      await ask("set transaction isolation level read committed");
      await ask("begin");
      await ask("select 1 from ichido_records where `key` = 'done' for update");
      const hasty = mysqlStore(client.pool, { callTimeoutMs: 3_000 });
      await hasty.stats();
      await afterNewOnes(hasty);
      const asked = ["done", ...keys];
      const answers = await Promise.allSettled(asked.map((key) => hasty.claim(request(key, "b"))));
      await ask("rollback");
      holder.release();
      const outcomes = answers.map((each) => (each.status === "fulfilled" ? each.value.outcome : each.reason));
      expect(outcomes).toEqual(["completed", ...keys.map(() => "granted")]);
    });

    test("S5 completions lock no other record, however few there are", async () => {
      const claims = await Promise.all(keys.map((key) => granted(store, request(key, `owner-${key}`))));
      await granted(store, request("bystander", "b"));
      const holder = await client.pool.getConnection();
      const ask = (sql: string): Promise<unknown> => holder.query({ sql } as never, []);
      await ask("begin");
      await ask("select 1 from ichido_records where `key` = 'bystander' for update");
      sent.length = 0;
      const stored = await Promise.all(claims.map((claim) => store.complete({ ...claim, response: sampleResponse() })));
      await ask("rollback");
      holder.release();
      expect(stored).toEqual(keys.map(() => "ok"));
      expect(sent).toHaveLength(1);
    });

    test("group: false sends every claim by itself", async () => {
      store = mysqlStore(
        intercepted(client.pool, (sql) => void sent.push(sql)),
        { group: false },
      );
      await store.stats();
      sent.length = 0;
      await Promise.all(keys.map((key) => granted(store, request(key, "o"))));
      expect(sent).toHaveLength(20);
    });

    test("S24 a note that comes after its record was forgotten goes, also where servers leave ids out", async () => {
      const shared: MysqlPool = {
        async getConnection() {
          const connection = await client.pool.getConnection();
          const leavesOut = { sql: "set session auto_increment_increment = 3" };
          await connection.query(leavesOut as Parameters<typeof connection.query>[0], []);
          return connection;
        },
      };
      const sharing = mysqlStore(shared);
      const asked = request("forgotten", "a");
      const claim = await granted(sharing, asked);
      await sharing.complete({ ...claim, response: sampleResponse() });
      await sharing.forget({ identity: asked.identity, fence: claim.fence, actor: "ann", reason: "asked for" });
      const notes = ["one", "other", "forgotten"].map((key, at) => ({
        identity: request(key, "a").identity,
        number: at + 1,
        outcome: "replayed" as const,
        agoMs: 0,
        tookMs: 1,
        status: 200,
        keepMs: 86_400_000,
        askedBy: "mary@example.com",
      }));
      await sharing.log({ process: "api", notes, suspectWithinMs: 0 });
      const kept = await Promise.all(notes.map(({ identity }) => sharing.attempts(identity)));
      expect(kept.map((attempts) => attempts.filter(({ askedBy }) => askedBy !== undefined).length)).toEqual([1, 1, 0]);
    });
  });
});
