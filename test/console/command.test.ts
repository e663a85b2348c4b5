/** `npx ichido console`: on this machine alone, for the browser that has the address, once. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request as ask } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, expect, test } from "vitest";
import { openSqliteStore } from "ichido/sqlite";
import type { SessionAnswer } from "../../packages/ichido/src/console/contract.ts";
import { ichidoIn } from "../cli/command-line.ts";
import { eventually } from "../support/eventually.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const bin = join(root, "packages/ichido/src/cli/bin.ts");
const folder = mkdtempSync(join(tmpdir(), "ichido-console-"));
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.kill("SIGKILL")) await once(child, "exit");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function migratedFile(name: string): Promise<string> {
  const file = join(folder, name);
  const store = await openSqliteStore(file);
  await store.migrate();
  await store.close();
  return file;
}

async function start(...args: readonly string[]): Promise<{ readonly child: ChildProcess; readonly url: URL }> {
  const given = ["--conditions=ichido-source", bin, "console", "--port", "0", ...args];
  const env = { ...process.env, ICHIDO_ACTOR: "ann" };
  const child = spawn(process.execPath, given, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  for await (const line of createInterface(child.stdout)) return { child, url: new URL(line) };
  throw new Error("it printed no address");
}

async function comeIn(url: URL): Promise<string> {
  const response = await fetch(url, { redirect: "manual" });
  expect([response.status, response.headers.get("location")]).toEqual([303, "./"]);
  const cookie = response.headers.get("set-cookie") ?? "";
  // Other servers of this machine do not know the path, and so never see it.
  expect(cookie).toMatch(new RegExp(`; HttpOnly; SameSite=Strict; Path=${url.pathname}$`));
  expect(url.pathname).toMatch(/^\/[\w-]{24}\/$/);
  return cookie.split(";")[0] ?? "";
}

test("the printed address lets one browser in, once; nobody else is let in", async () => {
  const file = await migratedFile("keys.sqlite");
  const { child, url } = await start("--store", file);
  expect([url.hostname, url.searchParams.has("token")]).toEqual(["127.0.0.1", true]);
  for (const path of ["/", "/api/session", "./", "api/session", "api/keys"]) {
    expect([path, (await fetch(new URL(path, url))).status]).toEqual([path, 403]);
  }
  const wrong = new URL(url);
  wrong.searchParams.set("token", "x".repeat(32));
  expect((await fetch(wrong)).status).toBe(403);
  const cookie = await comeIn(url);
  expect((await fetch(url)).status).toBe(403);
  const page = await fetch(new URL("./", url), { headers: { cookie } });
  expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const session = (await (await fetch(new URL("api/session", url), { headers: { cookie } })).json()) as SessionAnswer;
  expect(session).toMatchObject({ user: "ann", readOnly: false, store: { ok: true }, parts: { outbox: false } });
  const elsewhere = await fetch(new URL("/api/session", url), { headers: { cookie } });
  expect(elsewhere.status).toBe(403);
  const forged = await fetch(new URL("api/session", url), { headers: { cookie: `${cookie}x` } });
  expect(forged.status).toBe(403);
  // By a name that somebody lets point to this machine.
  const status = await new Promise((resolve) => {
    const options = { port: url.port, path: `${url.pathname}api/session`, headers: { host: "evil.example", cookie } };
    ask(options, (response) => resolve(response.statusCode)).end();
  });
  expect(status).toBe(403);
  child.kill("SIGINT");
  expect((await once(child, "exit"))[0]).toBe(130);
});

test("read-only shows and writes nothing", async () => {
  const { url } = await start("--store", await migratedFile("looked-at.sqlite"), "--read-only");
  const cookie = await comeIn(url);
  const session = (await (await fetch(new URL("api/session", url), { headers: { cookie } })).json()) as SessionAnswer;
  expect(session.readOnly).toBe(true);
  const { token } = session;
  const headers = { cookie, "x-ichido-token": token, "content-type": "application/json", origin: url.origin };
  const paused = await fetch(new URL("api/outbox/pause", url), { method: "POST", headers, body: "{}" });
  expect([paused.status, await paused.json()]).toMatchObject([403, { code: "read-only" }]);
});

test("until the store answers, a page says why; then the console is there", async () => {
  const file = join(folder, "later.sqlite");
  const { url } = await start("--store", file);
  const cookie = await comeIn(url);
  const look = () => fetch(new URL("./", url), { headers: { cookie } });
  const waiting = await look();
  expect([waiting.status, waiting.headers.get("refresh")]).toEqual([503, "2"]);
  await eventually(async () => expect(await (await look()).text()).toContain("later.sqlite is not there"), 10_000);
  expect((await fetch(new URL("./", url))).status).toBe(403);
  await migratedFile("later.sqlite");
  await eventually(async () => expect((await look()).status).toBe(200), 20_000);
}, 40_000);

test("another address than this machine's is refused without an authorization, and served with one", async () => {
  const file = await migratedFile("wide.sqlite");
  const refused = await ichidoIn({ cwd: folder }, "console", "--port", "0", "--host", "0.0.0.0", "--store", file);
  expect([refused.code, refused.out, refused.err]).toEqual([2, "", expect.stringMatching(/console\.authorize/)]);
  writeFileSync(
    join(folder, "ichido.config.mjs"),
    `import { createIchido } from ${JSON.stringify(join(root, "packages/ichido/src/index.ts"))};
     import { openSqliteStore } from ${JSON.stringify(join(root, "packages/ichido/src/stores/sqlite/index.ts"))};
     const store = await openSqliteStore(${JSON.stringify(file)});
     const authorize = (request) => request.headers["x-user"] === "bob" && { user: "bob", can: ["read"] };
     export default {
       ichido: createIchido({ store, dangerouslyShareKeys: true, onUnknown: "hold" }),
       console: { authorize, environmentName: "staging" },
       close: () => store.close(),
     };`,
  );
  // On this machine it does not replace the address that was printed: anybody here can send a header.
  const here = await start("--config", join(folder, "ichido.config.mjs"));
  const sent = { headers: { "x-user": "bob" } };
  expect((await fetch(new URL("api/session", here.url), sent)).status).toBe(403);
  const cookie = await comeIn(here.url);
  const mine = await (await fetch(new URL("api/session", here.url), { headers: { cookie } })).json();
  expect(mine).toMatchObject({ user: "ann", environment: "staging" });
  const { url } = await start("--host", "0.0.0.0", "--config", join(folder, "ichido.config.mjs"));
  expect(url.search).toBe("");
  url.hostname = "127.0.0.1";
  expect((await fetch(new URL("api/session", url))).status).toBe(403);
  const session = await (await fetch(new URL("api/session", url), { headers: { "x-user": "bob" } })).json();
  expect(session).toMatchObject({ user: "bob", can: ["read"], environment: "staging" });
});

test("an address that is none ends nothing", async () => {
  const { child, url } = await start("--store", await migratedFile("odd.sqlite"));
  const { hostname: host, port } = url;
  for (const path of ["//", "//[", "/\\\\x", "http://[/"]) {
    const { promise, resolve } = Promise.withResolvers<number>();
    ask({ host, port, path }, (response) => resolve(response.resume().statusCode ?? 0))
      .on("error", () => resolve(0))
      .end();
    expect([path, await promise]).toEqual([path, expect.any(Number)]);
  }
  expect(child.exitCode).toBeNull();
  expect((await fetch(new URL("api/session", url), { headers: { cookie: await comeIn(url) } })).status).toBe(200);
});
