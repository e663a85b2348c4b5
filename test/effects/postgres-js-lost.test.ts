/**
 * postgres.js ends a transaction by itself when its connection is lost, and goes on using the connection that comes in its
 * place: what is said after that would be written outside of any transaction, or end the process.
 */
import { spawnChild } from "ichido/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { postgresBench } from "./databases.ts";
import type { Bench } from "./databases.ts";

const both = [
  "in a statement",
  "in a statement, caught",
  "in silence, then returned",
  "in silence, then thrown",
  "in silence, then another statement",
];
const ways = {
  postgres: [
    ...both,
    "in silence, then a statement of its own",
    "in silence, then one of its own by unsafe",
    "in a savepoint",
  ],
  drizzle: both,
};

describeWith("postgres", "a connection of postgres.js that is lost in a transaction", () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await postgresBench();
  });
  afterAll(() => bench?.close());

  describe.each(Object.entries(ways))("%s", (library, all) => {
    test.each(all)("ends neither the process nor its promise of one transaction: %s", async (way) => {
      const child = await spawnChild(new URL("postgres-js-lost.child.ts", import.meta.url), {
        args: [library, way, bench.url],
      });
      await child.exited;
      expect(child.lines).toEqual(["rejected", "served"]);
      expect(child.exit).toMatchObject({ code: 0 });
      expect(await bench.effects(`${library} ${way} first`)).toEqual([]);
      expect(await bench.effects(`${library} ${way} late`)).toEqual([]);
      expect(await bench.effects(`${library} ${way} next`)).toHaveLength(1);
    });
  });
});
