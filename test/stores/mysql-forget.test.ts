/** A process that stands still while it forgets: what runs under the key since then keeps what it has. */
import { mysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import mysql2 from "mysql2/promise";
import { expect, onTestFinished, test } from "vitest";
import { describeWith, freshDatabase } from "../support/services.ts";
import { migrated, openClient } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

describeWith("mariadb", "forgetting", (url) => {
  test("S11, S24 leaves steps and resources of a later life alone", async () => {
    const database = await freshDatabase(url);
    onTestFinished(() => database.drop());
    const client = openClient("mysql2", database.url);
    onTestFinished(() => client.end());
    await migrated(client);
    const store = mysqlStore(client.pool);

    const reached = Promise.withResolvers<void>();
    const goesOn = Promise.withResolvers<void>();
    const slow = mysql2.createPool({ uri: database.url, connectionLimit: 2 });
    onTestFinished(() => slow.end());
    const lend = slow.getConnection.bind(slow);
    slow.getConnection = async () => {
      const connection = await lend();
      const query = connection.query.bind(connection) as (...given: unknown[]) => unknown;
      const standing = async (...given: unknown[]): Promise<unknown> => {
        if (JSON.stringify(given[0]).includes("delete from ichido_steps")) {
          reached.resolve();
          await goesOn.promise;
        }
        return query(...given);
      };
      return Object.assign(connection, { query: standing });
    };

    const first = await granted(store, request("key", "a"));
    await store.complete({ ...first, response: sampleResponse() });
    const other = mysqlStore(slow, { callTimeoutMs: 30_000 });
    const forgetting = other.forget({ ...first, actor: "ann", reason: "asked" });
    await reached.promise;

    // What is left of it ends by its retention, and is swept; then the key is used anew.
    await slow.query("delete from ichido_records");
    const second = await granted(store, request("key", "b"));
    const step = { ...second, name: "charge", leaseMs: 30_000 };
    await store.startStep(step);
    await store.finishStep({ ...step, result: new Uint8Array([1]) });
    const resources = [{ kind: "charge", id: "ch_1" }];
    await store.complete({ ...second, response: sampleResponse(), resources });
    goesOn.resolve();
    expect(await forgetting).toBe("ok");
    expect(await store.steps(second.identity)).toMatchObject([{ name: "charge", state: "finished" }]);
    expect(await store.resources(second.identity)).toEqual([{ kind: "charge", id: "ch_1" }]);
  });
});
