import { describe, expect, it } from "vitest";
import type { SchemaPart } from "./migration.ts";
import { createMigrator } from "./migrator.ts";
import type { SchemaTalk } from "./schema-dialects.ts";
import { talkLater } from "./talk.ts";

const part: SchemaPart = {
  part: "records",
  dialect: "mysql",
  prefix: "ichido_",
  migrations: [{ version: 1, name: "create", sql: "create table if not exists {prefix}a (b int);\n" }],
};

/** A server without tables, that fails where it is told to. */
function serverThat(fails: RegExp, held = 1): { readonly asked: string[]; migrate(): Promise<unknown> } {
  const asked: string[] = [];
  const hold = <Result>(talk: () => SchemaTalk<Result>): Promise<Result> =>
    talkLater(talk(), async (sql) => {
      asked.push(sql);
      if (fails.test(sql)) throw new Error("the server said no");
      return sql.includes("get_lock") ? [{ held }] : [];
    });
  return { asked, migrate: () => createMigrator(part, { read: hold, write: hold }).migrate() };
}

describe("migrate on MySQL", () => {
  it("gives its lock back when a statement fails, and tells of that statement", async () => {
    const server = serverThat(/^create table if not exists ichido_a/);
    await expect(server.migrate()).rejects.toThrow("the server said no");
    expect(server.asked.at(-1)).toMatch(/^select release_lock/);
  });

  it("has applied what it noted, also where the lock cannot be given back", async () => {
    const server = serverThat(/release_lock/);
    expect(await server.migrate()).toEqual([{ version: 1, name: "create" }]);
    expect(server.asked.at(-2)).toMatch(/^insert into ichido_migrations/);
  });

  it("changes nothing without the lock", async () => {
    const server = serverThat(/never/, 0);
    await expect(server.migrate()).rejects.toMatchObject({ code: "store-unavailable" });
    expect(server.asked).toHaveLength(1);
  });
});
