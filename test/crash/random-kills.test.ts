/** A few kills with every run; `npm run crash:random` makes 200 on each database. */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { mariadbBench, postgresBench, sqliteBench } from "../effects/databases.ts";
import { noteProof } from "../support/proof.ts";
import { describeWith } from "../support/services.ts";
import { randomFrom } from "./random-from.ts";
import { createKilling, randomKill, summaryOf } from "./random-kills.ts";
import { redisBench, type AnyBench } from "./redis-bench.ts";
import type { Killing } from "./random-kills.ts";

const kills = Number(process.env["ICHIDO_KILLS"] ?? 6);
const seed = Number(process.env["ICHIDO_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const besides = 3;
const perKillMs = 20_000;

vi.setConfig({ testTimeout: 60_000 + kills * perKillMs });

function suite(make: () => Promise<AnyBench>): void {
  let bench: AnyBench;
  let killing: Killing;
  beforeAll(async () => {
    bench = await make();
    killing = await createKilling(bench);
  });
  afterAll(async () => {
    await killing?.close();
    await bench?.close();
  });

  test(`I1 I2 I12 over ${kills} random kills nothing happens twice, nothing is lost, every key gets its answer`, async () => {
    const random = randomFrom(seed);
    let begun = 0;
    // Processes of different ages beside each other: one dies while the others work on the same tables.
    await Promise.all(
      Array.from({ length: besides }, async () => {
        while (begun < kills) {
          begun += 1;
          await killing.run(randomKill(random), Math.floor(random() * 2 ** 31));
        }
      }),
    );
    const { tally } = killing;
    console.log(summaryOf(bench.dialect, seed, tally));
    noteProof(`random-kills-${bench.dialect}`, {
      kind: "random kills",
      what: bench.dialect,
      command: `ICHIDO_KILLS=${kills} npm run crash:random`,
      tried: tally.operations,
      unit: "operations",
      faults: tally.kills,
      seeds: String(seed),
      counts: { "at points": tally.atPoints, "under way": tally.underWay, replayed: tally.replayed },
      violations: tally.violations.length,
    });
    expect(tally.violations).toEqual([]);
    expect(tally.kills).toBe(kills);
    // Not vacuous: processes died in the middle of work, and some by a named point.
    expect(tally.underWay).toBeGreaterThan(kills);
    expect(tally.atPoints).toBeGreaterThan(0);
  });
}

describe("random kills on SQLite", () => suite(() => sqliteBench()));
describeWith("postgres", "random kills on PostgreSQL", () => suite(postgresBench));
describeWith("mariadb", "random kills on MariaDB", () => suite(mariadbBench));
describeWith("redis", "random kills on Redis", () => suite(redisBench));

describe("random kills, the harness itself", () => {
  test("I19 it sees a second order where order and completion are two commits", async () => {
    const bench = await sqliteBench();
    const killing = await createKilling(bench);
    try {
      for (let life = 0; life < 5 && killing.tally.violations.length === 0; life += 1) {
        await killing.run({ point: "after-commit", nth: 1, afterMs: 10_000 }, seed + life, "two-commits");
      }
      expect(killing.tally.violations.join()).toContain("2 orders");
    } finally {
      await killing.close();
      await bench.close();
    }
  });
});
