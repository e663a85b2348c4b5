/** The same tests on SQLite and on PostgreSQL. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe } from "vitest";
import { describeWith, freshDatabase, type FreshDatabase } from "../support/services.ts";
import { openBed, type Bed } from "./bed.ts";

export function forEachDatabase(title: string, tests: (bed: () => Bed) => void): void {
  describe(`${title} on SQLite`, () => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-console-"));
    let bed: Bed;
    beforeAll(async () => {
      bed = await openBed(join(folder, "keys.sqlite"));
    }, 60_000);
    afterAll(async () => {
      await bed?.close();
      rmSync(folder, { recursive: true, force: true });
    });
    tests(() => bed);
  });

  describeWith("postgres", `${title} on PostgreSQL`, (url) => {
    let database: FreshDatabase;
    let bed: Bed;
    beforeAll(async () => {
      database = await freshDatabase(url);
      bed = await openBed(database.url);
    }, 60_000);
    afterAll(async () => {
      await bed?.close();
      await database?.drop();
    });
    tests(() => bed);
  });
}
