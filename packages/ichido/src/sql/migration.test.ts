import { describe, expect, it } from "vitest";
import { checksumOf, pendingMigrations } from "./migration.ts";

const one = { version: 1, name: "create", sql: "CREATE TABLE a (b);\n" };
const two = { version: 2, name: "add", sql: "ALTER TABLE a ADD c;\n" };
const row = (step: typeof one) => ({ version: step.version, checksum: checksumOf(step) });

describe("pendingMigrations", () => {
  it("gives what did not run, in order", () => {
    expect(pendingMigrations("records", [two, one], [])).toEqual([one, two]);
    expect(pendingMigrations("records", [one, two], [row(one)])).toEqual([two]);
    expect(pendingMigrations("records", [one, two], [row(one), row(two)])).toEqual([]);
  });

  it("leaves versions it does not know alone", () => {
    expect(pendingMigrations("records", [one], [row(one), { version: 9, checksum: "later" }])).toEqual([]);
  });

  it("refuses a version that ran with other content", () => {
    expect(() => pendingMigrations("records", [one], [{ version: 1, checksum: "x" }])).toThrow(
      expect.objectContaining({ code: "schema-missing", message: expect.stringContaining("migration 1 (create)") }),
    );
  });

  it("checksums do not depend on the line ends of a checkout", () => {
    expect(checksumOf({ ...one, sql: one.sql.replaceAll("\n", "\r\n") })).toBe(checksumOf(one));
  });
});
