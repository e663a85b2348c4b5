/** The programs of the page on events run as they stand, and do what the page says. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { spawnChild } from "ichido/testing";
import { Pool } from "pg";
import { expect, onTestFinished, test } from "vitest";
import { read, root } from "../repo/tracked.ts";
import { describeWith, freshDatabase, uniqueName } from "../support/services.ts";

const [sqlite = "", postgres = ""] = [...read("docs/guide/events.md").matchAll(/^```ts\n([^]*?)^```/gm)].map(
  ([, code]) => code ?? "",
);

async function runs(program: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-events-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  writeFileSync(join(folder, "events.ts"), program);
  const child = await spawnChild(join(folder, "events.ts"), {
    cwd: folder,
    env,
    execArgv: ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"],
  });
  onTestFinished(async () => void (await child.kill()));
  await child.waitFor(/^consumer: processed$/, 60_000);
  await child.waitFor(/^relay: sent$/, 60_000);
  expect(await child.stop(60_000)).toEqual({ code: 0, signal: null });
  expect(child.lines.filter((line) => !/^(relay|consumer): /.test(line))).toEqual([]);
  return folder;
}

test("one process on SQLite", { timeout: 150_000 }, async () => {
  const folder = await runs(sqlite);
  const database = new DatabaseSync(join(folder, "shop.db"));
  const rows = database.prepare("select o.id from orders o join reservations r on r.order_id = o.id").all();
  database.close();
  expect(rows).toHaveLength(1);
});

describeWith(["postgres", "nats"], "the page on events", (server, nats) => {
  test("PostgreSQL and NATS", { timeout: 150_000 }, async () => {
    const database = await freshDatabase(server);
    const stream = uniqueName("page");
    onTestFinished(async () => {
      const connection = await connect({ servers: nats });
      await (await jetstreamManager(connection)).streams.delete(stream).catch(() => undefined);
      await connection.close();
      await database.drop();
    });
    expect(postgres).toContain('stream: "SHOP", subjectPrefix: "shop"');
    const program = postgres.replace('"SHOP", subjectPrefix: "shop"', `"${stream}", subjectPrefix: "${stream}"`);
    await runs(program, { POSTGRES_URL: database.url, NATS_URL: nats });
    const pool = new Pool({ connectionString: database.url });
    const { rowCount } = await pool.query("select o.id from orders o join reservations r on r.order_id = o.id");
    await pool.end();
    expect(rowCount).toBe(1);
  });
});
