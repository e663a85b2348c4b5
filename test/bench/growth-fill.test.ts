/** What `npm run bench:growth` fills in without the store is what the store itself would have written. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Bed, Place, Purpose } from "../../bench/growth/bed.ts";
import { keyIn } from "../../bench/growth/bed.ts";
import { fill } from "../../bench/growth/fill.ts";
import { firstFreshOf, type Level, type Shape } from "../../bench/growth/level.ts";
import { compared } from "../../bench/growth/likeness.ts";
import { postgresPlaceAt } from "../../bench/growth/postgres.ts";
import { sqlitePlace } from "../../bench/growth/sqlite.ts";
import { requestFor } from "../../bench/growth/sample.ts";
import { replay } from "../../bench/growth/verbs.ts";
import { describeWith, freshDatabase, type FreshDatabase } from "../support/services.ts";

const rows = 200;

/** Fills a level as the command does, and gives it open for measuring. */
async function filled(open: (purpose: Purpose) => Promise<Place>, level: Level): Promise<[Bed, Place]> {
  const filling = await open("fill");
  await fill(filling, level, () => {});
  await filling.close();
  const place = await open("measure");
  return [await place.open(level), place];
}

function suite(store: Level["store"], shapes: readonly Shape[], open: (purpose: Purpose) => Promise<Place>): void {
  describe.each(shapes)("%s", (shape) => {
    const level: Level = { store, shape, rows };
    let bed: Bed;
    let place: Place;

    beforeAll(async () => {
      [bed, place] = await filled(open, level);
    });

    afterAll(async () => {
      await bed?.close();
      await place?.close();
    });

    it("a filled record has the same columns null and the same lengths as one of the store's own", async () => {
      const { filled: made, own } = await compared(bed);
      expect(made).toBeDefined();
      expect(made).toEqual(own);
    });

    it("there are as many as were asked for, all completed, and each is answered as a replay", async () => {
      expect(await bed.store.stats()).toMatchObject({ records: rows, completed: rows });
      for (let number = firstFreshOf(level); number <= rows; number += 1) await replay(bed.store, keyIn(level, number));
    });

    it("those that are to be past their retention are, and no others", async () => {
      const identities = Array.from({ length: rows }, (_, index) => requestFor(keyIn(level, index + 1)).identity);
      const records = await Promise.all(identities.map((identity) => bed.store.find(identity)));
      const expired = records.filter((record) => (record?.expiresAtMs ?? 0) <= Date.now());
      expect(expired).toHaveLength(firstFreshOf(level) - 1);
    });
  });
}

describe("sqlite", () => {
  const folder = mkdtempSync(join(tmpdir(), "ichido-growth-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  suite("sqlite", ["random", "v7", "expired"], (purpose) => sqlitePlace(folder, purpose));
});

describeWith("postgres", "postgres", (url) => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase(url);
  });
  afterAll(() => database?.drop());
  suite("postgres", ["random", "v7", "hash", "expired"], () => postgresPlaceAt(database.url));
});
