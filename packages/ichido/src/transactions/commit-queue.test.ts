import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import { drivers } from "../../../../test/stores/sqlite-files.ts";
import { CommitQueue } from "./commit-queue.ts";

interface Side {
  readonly run: <Value>(fn: () => Value | Promise<Value>) => Promise<Value>;
  /** Of a runner that does not share. */
  readonly runAlone: <Value>(fn: () => Value | Promise<Value>) => Promise<Value>;
  readonly prepare: (sql: string) => { iterate(): Iterator<unknown>; all(): unknown[] };
  readonly exec: (sql: string) => unknown;
  /** Stands still unless a test moves it. */
  readonly clock: { passedMs: number };
  /** BEGIN, SAVEPOINT, COMMIT and their like, in the order in which they were said. */
  readonly words: string[];
  /** What another connection sees. */
  readonly seen: () => number[];
  close(): void;
}

const lockTimeoutMs = 5_000;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

function open(name: keyof typeof drivers): Side {
  const folder = mkdtempSync(join(tmpdir(), "ichido-line-"));
  const file = join(folder, "shop.db");
  const other = new DatabaseSync(file);
  other.exec("PRAGMA journal_mode = WAL");
  other.exec("CREATE TABLE orders (id integer PRIMARY KEY)");
  const said: string[] = [];
  const database = drivers[name](file);
  const clock = { passedMs: 0 };
  const line = new CommitQueue({
    database,
    nowMs: () => clock.passedMs,
    exec(word) {
      said.push(word.replace(" ichido_member", ""));
      database.exec(word);
    },
    get isInside() {
      return database.isTransaction ?? database.inTransaction ?? false;
    },
  });
  const count = other.prepare("SELECT id FROM orders ORDER BY id");
  const side: Side = {
    run: (fn) => line.run({ lockTimeoutMs: lockTimeoutMs, waitMs: 5_000, shares: true }, async () => fn()),
    runAlone: (fn) => line.run({ lockTimeoutMs: lockTimeoutMs, waitMs: 5_000, shares: false }, async () => fn()),
    clock,
    prepare: (sql) => database.prepare(sql) as never,
    exec: (sql) => database.exec(sql),
    words: said,
    seen: () => count.all().map((row) => Number(row["id"])),
    close() {
      database.close();
      other.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  closers.push(() => side.close());
  return side;
}

const insert = (side: Side, id: number) => (): void => void side.exec(`INSERT INTO orders VALUES (${id})`);
const settled = async (work: readonly Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(work)).map((each) =>
    each.status === "fulfilled" ? "done" : ((each.reason as Error).name ?? String(each.reason)),
  );

describe.each(Object.keys(drivers) as (keyof typeof drivers)[])("transactions in line on %s", (name) => {
  it("those that wait share one commit, and hear of it only after it", async () => {
    const side = open(name);
    const seenAtEnd: number[][] = [];
    const work = [1, 2, 3, 4].map(async (id) => {
      await side.run(insert(side, id));
      seenAtEnd.push(side.seen());
    });
    await Promise.all(work);
    const behind = ["SAVEPOINT", "RELEASE"];
    expect(side.words).toEqual(["BEGIN IMMEDIATE", ...behind, ...behind, ...behind, "COMMIT"]);
    expect(seenAtEnd).toEqual([1, 2, 3, 4].map(() => [1, 2, 3, 4]));
  });

  it("nobody shares who was not asked to, nor with those who were", async () => {
    const side = open(name);
    const first = side.runAlone(insert(side, 1));
    const second = side.runAlone(async () => {
      // A function may wait for another transaction's end.
      await first;
      insert(side, 2)();
    });
    await Promise.all([first, second, side.run(insert(side, 3)), side.runAlone(insert(side, 4))]);
    expect(side.words).toEqual([1, 2, 3, 4].flatMap(() => ["BEGIN IMMEDIATE", "COMMIT"]));
    expect(side.seen()).toEqual([1, 2, 3, 4]);
  });

  it("one that fails for what another wrote is told so only if that was committed", async () => {
    const side = open(name);
    side.exec("PRAGMA foreign_keys = ON");
    side.exec("CREATE TABLE lines (order_id integer REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED)");
    const taken = (): void => {
      if (side.prepare("SELECT 1 FROM orders").all().length > 0) throw new RangeError("taken");
    };
    const ends = await settled([
      side.run(insert(side, 1)),
      side.run(taken),
      side.run(() => side.exec("INSERT INTO lines VALUES (77)")),
    ]);
    expect(ends).toEqual(["CommitFailed", "CommitFailed", "CommitFailed"]);
    expect(side.seen()).toEqual([]);
  });

  it("a statement that its function left open fails that function, and hangs nobody", async () => {
    const side = open(name);
    const writes = "INSERT INTO orders VALUES (5), (6) RETURNING id";
    let left: Iterator<unknown> | undefined;
    const ends = await settled([
      side.run(() => {
        insert(side, 1)();
        left = side.prepare(name === "node:sqlite" ? writes : "SELECT 1 UNION SELECT 2").iterate();
        left.next();
      }),
      side.run(insert(side, 2)),
    ]);
    expect(ends[0]).toBe("CommitFailed");
    left?.return?.();
    await side.run(insert(side, 9));
    expect(side.seen()).toEqual(ends[1] === "done" ? [2, 9] : [9]);
  });

  it("one alone commits at once, without a savepoint", async () => {
    const side = open(name);
    await side.run(insert(side, 1));
    expect(side.words).toEqual(["BEGIN IMMEDIATE", "COMMIT"]);
    await expect(side.run(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(side.words.slice(2)).toEqual(["BEGIN IMMEDIATE", "ROLLBACK"]);
  });

  it("one that fails is undone alone, wherever it stands", async () => {
    for (const failing of [1, 2, 3]) {
      const side = open(name);
      const work = [1, 2, 3].map((id) =>
        side.run(() => {
          insert(side, id)();
          if (id === failing) throw new RangeError("changed my mind");
        }),
      );
      expect(await settled(work)).toEqual([1, 2, 3].map((id) => (id === failing ? "RangeError" : "done")));
      expect(side.seen()).toEqual([1, 2, 3].filter((id) => id !== failing));
    }
  });

  it("one that ends the transaction itself takes nobody's word along: whoever is told done is there", async () => {
    for (const word of ["ROLLBACK", "COMMIT"]) {
      const side = open(name);
      const work = [1, 2, 3, 4].map((id) =>
        side.run(() => {
          insert(side, id)();
          if (id === 2) side.exec(word);
        }),
      );
      const ends = await settled(work);
      const seen = side.seen();
      for (const [place, end] of ends.entries()) {
        // Another end than these two would be a lie, or a claim to know what nobody knows.
        expect(["done", "CommitFailed"]).toContain(end);
        if (end === "done") expect(seen).toContain(place + 1);
      }
      expect(ends[1]).toBe("CommitFailed");
      // The line goes on.
      await side.run(insert(side, 9));
      expect(side.seen()).toContain(9);
    }
  });

  it("an error by which SQLite undoes everything is told to everybody who was in it", async () => {
    const side = open(name);
    side.exec("CREATE TRIGGER strict BEFORE INSERT ON orders WHEN new.id = 3 BEGIN SELECT raise(ROLLBACK, 'out'); END");
    const ends = await settled([1, 2, 3, 4].map((id) => side.run(insert(side, id))));
    expect(ends.slice(0, 2)).toEqual(["CommitFailed", "CommitFailed"]);
    expect(ends[2]).not.toBe("done");
    expect(ends[3]).toBe("done");
    expect(side.seen()).toEqual([4]);
  });

  it("a commit that is refused for one is refused for all, and after that each commits alone", async () => {
    const side = open(name);
    side.exec("PRAGMA foreign_keys = ON");
    side.exec(
      "CREATE TABLE lines (id integer PRIMARY KEY, order_id integer REFERENCES orders (id) DEFERRABLE INITIALLY DEFERRED)",
    );
    const orphan = (): unknown => side.exec("INSERT INTO lines (order_id) VALUES (77)");
    expect(await settled([side.run(insert(side, 1)), side.run(orphan), side.run(insert(side, 2))])).toEqual([
      "CommitFailed",
      "CommitFailed",
      "CommitFailed",
    ]);
    expect(side.seen()).toEqual([]);
    expect(await settled([side.run(insert(side, 1)), side.run(orphan), side.run(insert(side, 2))])).toEqual([
      "done",
      "CommitFailed",
      "done",
    ]);
    expect(side.seen()).toEqual([1, 2]);
  });

  it("after a slow one nobody waits for those behind them", async () => {
    const side = open(name);
    await side.run(() => (side.clock.passedMs += 20));
    side.words.length = 0;
    await Promise.all([1, 2].map((id) => side.run(insert(side, id))));
    expect(side.words).toEqual(["BEGIN IMMEDIATE", "COMMIT", "BEGIN IMMEDIATE", "COMMIT"]);
    side.clock.passedMs += 1_000;
    side.words.length = 0;
    await Promise.all([3, 4].map((id) => side.run(insert(side, id))));
    expect(side.words).toEqual(["BEGIN IMMEDIATE", "SAVEPOINT", "RELEASE", "COMMIT"]);
  });

  it("a commit is shared by so many, and waited for so long", async () => {
    const side = open(name);
    await Promise.all(Array.from({ length: 40 }, (_, id) => side.run(insert(side, id))));
    expect(side.words.filter((word) => word === "COMMIT")).toHaveLength(2);
    side.words.length = 0;
    const slowly = (id: number) => (): void => {
      insert(side, id)();
      side.clock.passedMs += 3;
    };
    await Promise.all([50, 51, 52, 53].map((id) => side.run(slowly(id))));
    expect(side.words.filter((word) => word === "COMMIT")).toHaveLength(2);
  });

  it("a long line lets the event loop go on", async () => {
    const side = open(name);
    let beats = 0;
    const beat = setInterval(() => (beats += 1), 1);
    const busy = (id: number) => (): void => {
      insert(side, id)();
      side.clock.passedMs += 0.5;
      for (const untilMs = performance.now() + 0.5; performance.now() < untilMs;);
    };
    await Promise.all(Array.from({ length: 200 }, (_, id) => side.run(busy(id))));
    clearInterval(beat);
    expect(side.seen()).toHaveLength(200);
    expect(beats).toBeGreaterThan(0);
  });
});
