/** The console in every framework's example server, under a prefix, behind a reverse proxy that adds a path. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, request as ask, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { KeysAnswer, SessionAnswer } from "../../packages/ichido/src/console/contract.ts";

const frameworks = ["express", "fastify", "hono", "koa", "nest", "next", "node"];
const root = fileURLToPath(new URL("../../", import.meta.url));

async function startExample(name: string): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  const args = ["--conditions=ichido-source", `examples/${name}/server.ts`];
  const env = { ...process.env, PORT: "0" };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface(child.stdout)) {
    const [, port] = /"port":(\d+)/.exec(line) ?? [];
    if (port !== undefined) return { child, port: Number(port) };
  }
  throw new Error(`the ${name} example did not start`);
}

/** `/ops/<anything>` goes on as `/<anything>`, as nginx does with a slash at the end of `proxy_pass`. */
async function startProxy(port: number): Promise<Server> {
  const server = createServer((incoming, outgoing) => {
    if (!incoming.url?.startsWith("/ops/")) return void outgoing.writeHead(404).end("not of the proxy");
    const headers = { ...incoming.headers, host: `127.0.0.1:${port}`, "x-forwarded-host": incoming.headers.host };
    const path = incoming.url.slice("/ops".length);
    const onward = ask({ port, path, method: incoming.method, headers }, (answer: IncomingMessage) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
      outgoing.on("close", () => answer.destroy());
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

describe.each(frameworks)("the console in %s, behind a proxy path", (name) => {
  let child: ChildProcess;
  let proxy: Server;
  let origin: string;
  const token = { authorization: "Bearer ann-token" };

  beforeAll(async () => {
    const example = await startExample(name);
    ({ child } = example);
    proxy = await startProxy(example.port);
    origin = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  }, 60_000);
  afterAll(async () => {
    proxy?.closeAllConnections();
    proxy?.close();
    if (child?.kill()) await once(child, "exit");
  });

  /** As the page's relative addresses resolve in a browser. */
  const at = (relative: string): string => new URL(relative, `${origin}/ops/console/`).href;

  test("the page is there, with its slash, and everything it names by relative addresses", async () => {
    const bare = await fetch(`${origin}/ops/console`, { headers: token, redirect: "manual" });
    expect(bare.status).toBe(308);
    expect(new URL(bare.headers.get("location") ?? "", `${origin}/ops/console`).pathname).toBe("/ops/console/");
    const page = await fetch(`${origin}/ops/console`, { headers: token });
    const html = await page.text();
    expect([page.status, page.url, page.headers.get("content-type")]).toEqual([
      200,
      at(""),
      "text/html; charset=utf-8",
    ]);
    const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path = ""]) => path);
    expect(named.length).toBeGreaterThan(1);
    for (const path of named) {
      expect(path).toMatch(/^\.\//);
      const asset = await fetch(at(path), { headers: token });
      expect([path, asset.status, (await asset.arrayBuffer()).byteLength > 0]).toEqual([path, 200, true]);
      const kept = await fetch(at(path), { headers: { ...token, "if-none-match": asset.headers.get("etag") ?? "" } });
      expect([path, kept.status]).toEqual([path, 304]);
    }
    expect((await fetch(at("nothing-here"), { headers: token })).status).toBe(404);
  });

  test("nobody without the example's own authentication is let in", async () => {
    for (const path of ["", "api/session", "api/keys"]) {
      const { status } = await fetch(at(path));
      expect([path, [401, 403].includes(status)]).toEqual([path, true]);
    }
  });

  test("looks, settles with body and token, and hears what happens", async () => {
    const json = { ...token, "content-type": "application/json" };
    const pay = (body: string) =>
      fetch(`${origin}/ops/payments`, {
        method: "POST",
        headers: { ...json, "idempotency-key": `"order-${name}"` },
        body,
      });
    expect((await pay('{"amount":100}')).status).toBe(201);
    const live = await fetch(at("api/live"), { headers: token });
    expect(live.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const reader = live.body?.pipeThrough(new TextDecoderStream()).getReader();
    let heard = "";
    while (!heard.includes("event: hello")) heard += (await reader?.read())?.value ?? "";
    expect((await pay('{"amount":100}')).headers.get("idempotency-replayed")).toBe("true");
    while (!heard.includes("event: attempt")) heard += (await reader?.read())?.value ?? "";
    await reader?.cancel();

    const session = (await (await fetch(at("api/session"), { headers: token })).json()) as SessionAnswer;
    expect(session).toMatchObject({ user: "ann", can: ["read", "settle"] });
    const { records } = (await (await fetch(at("api/keys?state=completed"), { headers: token })).json()) as KeysAnswer;
    const [record] = records;
    expect(record?.operation).toBe("payment.create");
    const settle = (headers: Record<string, string>) =>
      fetch(at(`api/keys/${record?.handle ?? ""}/settle`), {
        method: "POST",
        headers: { ...json, ...headers },
        body: JSON.stringify({ reason: "ticket 4711", fence: record?.fence, decision: "hold" }),
      });
    const own = { origin, "x-ichido-token": session.token };
    const answered = await settle(own);
    expect([answered.status, await answered.json()]).toMatchObject([409, { code: "refused" }]);
    expect((await settle({ origin })).status).toBe(403);
    expect((await settle({ ...own, origin: "https://evil.example" })).status).toBe(403);
    expect((await settle({ ...own, "sec-fetch-site": "cross-site" })).status).toBe(403);
  }, 30_000);
});
