/** The program of the page runs: one user, one mail and one answer, however often it is asked for and whenever it dies. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { spawnChild, type Child } from "ichido/testing";
import { afterAll, afterEach, expect, test } from "vitest";
import { read, root } from "../repo/tracked.ts";

const place = mkdtempSync(join(tmpdir(), "ichido-mail-"));
const program = /```ts\n([^]*?)```/.exec(read("docs/guide/row-and-mail.md"))?.[1] ?? "";
symlinkSync(join(root, "node_modules"), join(place, "node_modules"));
writeFileSync(join(place, "package.json"), JSON.stringify({ type: "module" }));

let child: Child | undefined;
afterEach(async () => {
  await child?.stop();
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

async function start(name: string, text = program): Promise<string> {
  expect(text).not.toBe("");
  const entry = join(place, `${name}.ts`);
  writeFileSync(entry, text);
  child = await spawnChild(entry, { cwd: place, env: { PORT: "0", DATABASE: join(place, `${name}.db`) } });
  const [, port = ""] = await child.waitFor(/^listening on .*"port":(\d+)/, 60_000);
  return `http://127.0.0.1:${port}/register`;
}

function register(url: string, key: string, name = "Ann"): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "idempotency-key": key },
    body: JSON.stringify({ email: "ann@example.com", name }),
  });
}

const usersIn = (name: string): unknown =>
  new DatabaseSync(join(place, `${name}.db`), { readOnly: true }).prepare("select count(*) as n from users").get()?.[
    "n"
  ];

test("a sign-up, its retries and a second one: one user, one mail", async () => {
  const url = await start("twice");
  const key = randomUUID();
  expect((await register(url, key)).status).toBe(201);
  await child?.waitFor(/^mail to ann@example.com$/, 60_000);
  const again = await register(url, key);
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  expect((await register(url, randomUUID())).status).toBe(409);
  expect((await register(url, key, "Ben")).status).toBe(422);
  expect(usersIn("twice")).toBe(1);
  expect(child?.lines.filter((line) => line.startsWith("mail"))).toHaveLength(1);
});

test("a process that dies between the row and the mail: the next one sends it", async () => {
  const key = randomUUID();
  const withoutRelay = program.replace("await relay.start();", "");
  expect(withoutRelay).not.toBe(program);
  expect((await register(await start("killed", withoutRelay), key)).status).toBe(201);
  await child?.kill();
  expect(child?.lines.filter((line) => line.startsWith("mail"))).toEqual([]);

  const url = await start("killed");
  await child?.waitFor(/^mail to ann@example.com$/, 60_000);
  expect((await register(url, key)).headers.get("idempotency-replayed")).toBe("true");
  expect(usersIn("killed")).toBe(1);
});
