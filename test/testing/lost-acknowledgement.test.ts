import { createFaultProxy } from "ichido/testing";
import { Client } from "pg";
import { expect, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";

describeWith("postgres", "lost acknowledgement", (url) => {
  test.each([
    ["the answer to COMMIT is cut off", { direction: "to-client", pattern: "COMMIT", place: "before" }, 1],
    ["COMMIT arrives and the connection breaks", { direction: "to-server", pattern: "COMMIT", place: "after" }, 1],
    ["COMMIT itself is cut off", { direction: "to-server", pattern: "COMMIT", place: "before" }, 0],
  ] as const)("%s: the client sees the same error, the server has %o", async (_title, rule, rows) => {
    await using database = await freshDatabase(url);
    const direct = new Client({ connectionString: database.url });
    await direct.connect();
    await direct.query("CREATE TABLE effects (name text)");
    const proxy = await createFaultProxy({ target: database.url });
    const client = new Client({ connectionString: proxy.url });
    client.on("error", () => {});
    await client.connect();
    proxy.cut(rule);
    await client.query("BEGIN");
    await client.query("INSERT INTO effects VALUES ('paid')");
    await expect(client.query("COMMIT")).rejects.toThrow(/ECONNRESET|terminated|closed/);
    const { rowCount } = await direct.query("SELECT FROM effects");
    expect(rowCount).toBe(rows);
    await client.end().catch(() => {});
    await direct.end();
    await proxy.close();
  });
});
