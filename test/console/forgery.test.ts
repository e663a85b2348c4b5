/** Who is not let in, and what did not come from the console's own page. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { console as ichidoConsole, loopbackOnly, type Authorized } from "ichido/console";
import { createTokens, tokenMs } from "../../packages/ichido/src/console/token.ts";
import { openBed, secret, type Bed } from "./bed.ts";
import { origin, visit, type Visitor } from "./visitor.ts";
import type { RecordView } from "../../packages/ichido/src/console/contract.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-console-"));
let bed: Bed;
let visitor: Visitor;
let record: RecordView;

beforeAll(async () => {
  bed = await openBed(join(folder, "keys.sqlite"));
  visitor = visit(bed.ichido, { outbox: bed.outbox, inbox: bed.inbox });
  record = await visitor.recordOf(bed.keys.stuck);
}, 60_000);
afterAll(async () => {
  visitor.console.close();
  await bed.close();
  rmSync(folder, { recursive: true, force: true });
});

const hold = () => ({ reason: "ticket 4711", fence: record.fence, decision: "hold" });
const settle = () => `api/keys/${record.handle}/settle`;
const auditCount = async (): Promise<number> => (await bed.ichido.store.auditLog({ limit: 1_000 })).entries.length;

test("without authorize nobody is let in, and both page and API say how", async () => {
  const console = ichidoConsole(bed.ichido, { at: "/console" });
  const api = await console.fetch(new Request(`${origin}/console/api/session`));
  expect([api.status, await api.json()]).toEqual([
    403,
    { code: "denied", message: expect.stringContaining("authorize") },
  ]);
  for (const path of ["", "assets/none.js", "anything"]) {
    const page = await console.fetch(new Request(`${origin}/console/${path}`));
    expect([path, page.status, await page.text()]).toEqual([path, 403, expect.stringContaining("authorize")]);
  }
  console.close();
});

test.each([
  ["nothing", undefined],
  ["null", null],
  ["false", false],
  ["true", true],
  ["a name alone", { user: "ann" }],
  ["permissions alone", { can: ["read"] }],
  ["an empty name", { user: " ", can: ["read"] }],
  ["a name that is no text", { user: 7, can: ["read"] }],
  ["permissions that are no list", { user: "ann", can: "read" }],
])("an authorize that answers %s lets nobody in", async (_what, answer) => {
  const { get, console } = visit(bed.ichido, { authorize: () => answer as Authorized });
  expect((await get("api/keys")).body).toMatchObject({ code: "denied" });
  console.close();
});

test("an authorize that throws lets nobody in and tells nothing of its error", async () => {
  const failing = visit(bed.ichido, { authorize: () => Promise.reject(new Error("password of the directory")) });
  const { status, text } = await failing.get("api/keys");
  expect([status >= 400, text.includes("password")]).toEqual([true, false]);
  failing.console.close();
});

test("words that are no permissions permit nothing", async () => {
  const odd = visit(bed.ichido, { authorize: () => ({ user: "ann", can: ["*", "admin", "READ"] as never }) });
  expect((await odd.get<{ can: unknown }>("api/session")).body.can).toEqual([]);
  expect((await odd.get("api/keys")).status).toBe(403);
  odd.console.close();
});

test.each(["cross-site", "same-site", "weird"])("a request that a browser calls %s may not even look", async (site) => {
  const { status, body } = await visitor.get("api/keys", { "sec-fetch-site": site });
  expect([status, body["code"]]).toEqual([403, "cross-site"]);
});

test("over plain HTTP a page of another origin may not look either, and the console's own may", async () => {
  const ask = async (headers: Record<string, string>) =>
    (await visitor.console.fetch(new Request(`${origin}/console/api/keys`, { headers }))).status;
  expect(await ask({ origin: "https://evil.example", host: "console.test" })).toBe(403);
  expect(await ask({ origin: "null", host: "console.test" })).toBe(403);
  expect(await ask({ origin, host: "console.test" })).toBe(200);
  expect(await ask({})).toBe(200);
});

test.each([
  ["another site", { "sec-fetch-site": "cross-site" }],
  ["a sibling of the host", { "sec-fetch-site": "same-site" }],
  ["the address bar", { "sec-fetch-site": "none" }],
  ["another origin, without the browser's word", { "sec-fetch-site": undefined, origin: "https://evil.example" }],
  ["no origin at all", { "sec-fetch-site": undefined }],
  ["a hidden origin", { "sec-fetch-site": undefined, origin: "null" }],
  ["the host of another port", { "sec-fetch-site": undefined, origin: "http://console.test:81", host: "console.test" }],
])("a write from %s is refused", async (_where, headers) => {
  const before = await auditCount();
  const { status, body } = await visitor.post(settle(), hold(), headers);
  expect([status, body["code"]]).toEqual([403, "cross-site"]);
  expect(await auditCount()).toBe(before);
});

test("over plain HTTP the origin must be the host that was asked, or that a proxy forwards", async () => {
  const own = { "sec-fetch-site": undefined, origin: "https://ops.example" };
  const old = { ...hold(), fence: record.fence + 1 };
  for (const host of ["host", "x-forwarded-host"]) {
    expect((await visitor.post(settle(), old, { ...own, [host]: "ops.example" })).body["code"]).toBe("changed");
  }
});

test("a write without a token, with a forged, an old or another user's is refused", async () => {
  const tokens = createTokens(secret);
  const late = createTokens(secret, () => Date.now() - tokenMs - 1_000);
  const other = createTokens("another secret of the same length!!");
  const { token } = tokens.of("ann");
  const [until = "", proof = ""] = token.split(".");
  // Not the last character: some of its bits are no part of the proof.
  const forged = `${until}.${proof.startsWith("A") ? "B" : "A"}${proof.slice(1)}`;
  const extended = `${(Date.now() + 10 * tokenMs).toString(36)}.${token.split(".")[1] ?? ""}`;
  const wrong = ["", "x", forged, extended, late.of("ann").token, tokens.of("bob").token, other.of("ann").token];
  const before = await auditCount();
  for (const each of [undefined, ...wrong]) {
    const { status, body } = await visitor.post(settle(), hold(), { "x-ichido-token": each });
    expect([each, status, body["code"]]).toEqual([each, 403, "token"]);
  }
  expect(await auditCount()).toBe(before);
  const stale = { ...hold(), fence: record.fence + 1 };
  expect((await visitor.post(settle(), stale, { "x-ichido-token": token })).body["code"]).toBe("changed");
});

test("a form of another site cannot be a write: the body must be JSON by its type", async () => {
  for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"]) {
    const { status, body } = await visitor.post(settle(), hold(), { "content-type": type });
    expect([type, status, body["code"]]).toEqual([type, 400, "body"]);
  }
});

test("a write that is sent again takes effect once", async () => {
  const key = await bed.stuckKey();
  const { handle, fence, updatedAt } = await visitor.recordOf(key);
  const adopt = {
    reason: "bank has it",
    fence,
    updatedAt,
    decision: "adopt",
    answer: { status: 201, body: '{"id":1}' },
  };
  expect((await visitor.post(`api/keys/${handle}/settle`, adopt)).status).toBe(200);
  const again = await visitor.post(`api/keys/${handle}/settle`, adopt);
  expect([again.status, again.body["code"]]).toEqual([409, "changed"]);
  const audit = await bed.ichido.store.audit((await bed.ichido.store.list({ key, limit: 1 })).records[0]!.identity);
  expect(audit).toHaveLength(1);
});

test.each([
  ["api/keys?stat=unknown", "stat"],
  ["api/keys?state=unknwon", "state"],
  ["api/keys?state=", "state"],
  ["api/keys?tenant=", "tenant"],
  ["api/keys?operation=", "operation"],
  ["api/keys?tenant=a&tenant=b", "tenant"],
  ["api/keys?label=customer", "label"],
  ["api/keys?label=%3D42", "label"],
  ["api/keys?resource=payment%3D", "resource"],
  ["api/keys?limit=0", "limit"],
  ["api/keys?limit=201", "limit"],
  ["api/keys?limit=1e2", "limit"],
  ["api/keys?olderThanMs=-1", "olderThanMs"],
  ["api/unknown?state=completed", "state"],
  ["api/ask", "text"],
  ["api/ask?text=%20", "text"],
  ["api/ask?amount=42", "at"],
  ["api/ask?amount=much&at=2026-11-18T14:05Z", "amount"],
  ["api/ask?amount=42&at=today", "at"],
  ["api/outbox/dead?cursor=x", "cursor"],
  ["api/inbox/dead?handlr=mailer", "handlr"],
  ["api/session?x=1", "x"],
])("%s is refused, and finds nothing rather than everything", async (path, parameter) => {
  const { status, body } = await visitor.get(path);
  expect([status, body["code"], body["parameter"]]).toEqual([400, "parameter", parameter]);
});

test("a cursor that no page gave is refused", async () => {
  expect((await visitor.get("api/keys?cursor=nonsense")).status).toBe(400);
});

test.each([
  [{ fence: 1, decision: "hold" }, "reason"],
  [{ reason: " ", fence: 1, decision: "hold" }, "reason"],
  [{ reason: "x".repeat(201), fence: 1, decision: "hold" }, "reason"],
  [{ reason: "x", decision: "hold" }, "fence"],
  [{ reason: "x", fence: "1", decision: "hold" }, "fence"],
  [{ reason: "x", fence: 1, decision: "retry" }, "decision"],
  [{ reason: "x", fence: 1, decision: "hold", answer: { status: 200 } }, "answer"],
  [{ reason: "x", fence: 1, decision: "adopt" }, "answer"],
  [{ reason: "x", fence: 1, decision: "adopt", answer: { status: 99 } }, "status"],
  [{ reason: "x", fence: 1, decision: "adopt", answer: { status: 200, headers: { "a b": "c" } } }, "headers"],
  [{ reason: "x", fence: 1, decision: "adopt", answer: { status: 200, headers: { a: "b\r\nc: d" } } }, "headers"],
  [{ reason: "x", fence: 1, decision: "hold", force: true }, "force"],
  [["x"], undefined],
])("the settlement %j is refused for its %s", async (given, parameter) => {
  const { status, body } = await visitor.post(settle(), given);
  expect([status, body["code"], body["parameter"]]).toEqual([400, "body", parameter]);
});

test("a body that is too large or no JSON is refused", async () => {
  const large = { ...hold(), reason: "x".repeat(300_000) };
  expect((await visitor.post(settle(), large)).status).toBe(413);
  const token = await visitor.token();
  const headers = { "content-type": "application/json", "sec-fetch-site": "same-origin", "x-ichido-token": token };
  const broken = new Request(`${origin}/console/${settle()}`, { method: "POST", headers, body: "{" });
  expect((await visitor.console.fetch(broken)).status).toBe(400);
});

test("wrong methods and wrong paths are told apart", async () => {
  expect((await visitor.get(settle())).status).toBe(405);
  expect((await visitor.post("api/keys", {})).status).toBe(405);
  for (const path of ["api", "api/", "api/nothing", "api/keys/", "api/keys//probes", "api/session/x"])
    expect([path, (await visitor.get(path)).status]).toEqual([path, 404]);
  const outside = await visitor.console.fetch(new Request(`${origin}/consoles/api/session`));
  expect([outside.status, await outside.text()]).toEqual([404, ""]);
});

test("Live takes so many listeners and no more, and a place is free again when one goes", async () => {
  const few = visit(bed.ichido, { listenersMax: 2 });
  const listen = () => few.console.fetch(new Request(`${origin}/console/api/live`));
  const [first, second, third] = [await listen(), await listen(), await listen()];
  expect([first.status, second.status, third.status]).toEqual([200, 200, 429]);
  await first.body?.cancel();
  const again = await listen();
  expect(again.status).toBe(200);
  few.console.close();
  // Streams of a closed console end by themselves.
  for (const response of [second, again]) expect(await response.text()).toContain("event: hello");
});

test("every answer forbids what a page of strangers could use", async () => {
  for (const path of ["api/session", "api/keys", "api/nothing", "", "nothing"]) {
    const { headers } = await visitor.get(path);
    const policy = headers.get("content-security-policy") ?? "";
    expect([path, policy.includes("default-src 'none'"), policy.includes("unsafe")]).toEqual([path, true, false]);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("access-control-allow-origin")).toBeNull();
    if (path.startsWith("api")) {
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    }
  }
});

test.each([
  [{ remoteAddress: "127.0.0.1", host: "127.0.0.1:3000" }, true],
  [{ remoteAddress: "::1", host: "localhost" }, true],
  [{ remoteAddress: "::ffff:127.0.0.1", host: "[::1]:80" }, true],
  [{ remoteAddress: "10.0.0.7", host: "localhost" }, false],
  [{ remoteAddress: "127.0.0.1", host: "evil.example" }, false],
  [{ remoteAddress: "127.0.0.1", host: "localhost.evil.example" }, false],
  [{ remoteAddress: "127.0.0.1", host: "localhost", "x-forwarded-for": "10.0.0.7" }, false],
  [{ host: "localhost" }, false],
])("loopbackOnly for %j: %s", ({ remoteAddress, ...headers }: Record<string, string>, isLetIn) => {
  const request = { socket: { remoteAddress }, headers };
  const authorize = loopbackOnly({ can: ["read"] });
  for (const native of [request, { req: request }, { raw: request, headers: {} }])
    expect(authorize(native)).toEqual(isLetIn && { user: "local", can: ["read"] });
});
