import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import { until } from "./support/poll.ts";
import { expectProblem } from "./support/problem.ts";
import { newFolder } from "./support/program.ts";
import { send, startShop, type Reply, type Sending, type Shop } from "./support/shop.ts";

let shop: Shop;
beforeAll(async () => {
  shop = await startShop({ SHOP_DATA: newFolder() });
});
const newUser = () => `${shop.url}/users/u-${randomUUID()}`;
const put = (url: string, body: unknown, headers: Sending["headers"] = {}) =>
  send(url, { method: "PUT", body, headers });
const patch = (url: string, body: unknown, headers: Sending["headers"] = {}, key?: string) =>
  send(url, { method: "PATCH", body, headers, ...(key === undefined ? {} : { key }) });
const remove = (url: string, headers: Sending["headers"] = {}) => send(url, { method: "DELETE", headers });
const tagOf = (reply: Reply) => String(reply.headers.get("etag"));

describe("users", () => {
  it("PUT creates with 201 and replaces with 200, each with a new strong ETag; GET gives it, or 304", async () => {
    const url = newUser();
    expectProblem(await send(url), 404, "not-found");
    const created = await put(url, { name: "Ann", role: "admin" });
    expect(created.status, created.text).toBe(201);
    expect(created.body).toEqual({ userId: url.split("/").at(-1), name: "Ann", role: "admin" });
    expect(tagOf(created)).toMatch(/^"[^"]+"$/);
    const replaced = await put(url, { name: "Anna" }, { "if-match": tagOf(created) });
    expect([replaced.status, replaced.body.role]).toEqual([200, undefined]);
    expect(tagOf(replaced)).not.toBe(tagOf(created));
    const read = await send(url);
    expect([read.status, tagOf(read), read.text]).toEqual([200, tagOf(replaced), replaced.text]);
    expect((await send(url, { headers: { "if-none-match": tagOf(read) } })).status).toBe(304);
    expect((await send(url, { token: "demo-3" })).status).toBe(404);
  });

  it("If-None-Match: * creates once; If-Match on nobody is 412", async () => {
    const url = newUser();
    expectProblem(await put(url, { name: "Ann" }, { "if-match": '"v1"' }), 412, "precondition-failed");
    const all = await Promise.all(
      [1, 2, 3, 4].map((each) => put(url, { name: `Ann ${each}` }, { "if-none-match": "*" })),
    );
    expect(all.map(({ status }) => status).toSorted((some, other) => some - other)).toEqual([201, 412, 412, 412]);
  });

  it("428 without a precondition on an existing user, 412 on a stale or weak tag, and nothing changes", async () => {
    const url = newUser();
    const old = tagOf(await put(url, { name: "Ann" }));
    const current = tagOf(await put(url, { name: "Anna" }, { "if-match": old }));
    for (const write of [
      (headers?: Sending["headers"]) => put(url, { name: "Eve" }, headers),
      (headers?: Sending["headers"]) => patch(url, { name: "Eve" }, headers),
      (headers?: Sending["headers"]) => remove(url, headers),
    ]) {
      expectProblem(await write(), 428, "precondition-required");
      expectProblem(await write({ "if-match": old }), 412, "precondition-failed");
      expectProblem(await write({ "if-match": `W/${current}` }), 412, "precondition-failed");
      expectProblem(await write({ "if-match": "v2" }), 400, "validation");
    }
    expect((await send(url)).body).toMatchObject({ name: "Anna" });
    expect((await patch(url, { age: 7 }, { "if-match": `${old}, ${current}` })).status).toBe(200);
  });

  it("a body that is nested deeper than it could be written again is refused with 400", async () => {
    const nested = (levels: number): unknown => JSON.parse("[".repeat(levels) + "]".repeat(levels));
    const url = newUser();
    expectProblem(await put(url, { name: "Ann", deep: nested(100) }), 400, "validation");
    const created = await put(url, { name: "Ann", deep: nested(99) });
    expect(created.status, created.text).toBe(201);
    expectProblem(await patch(url, { deep: nested(100) }, { "if-match": tagOf(created) }), 400, "validation");
    const far = await fetch(newUser(), {
      method: "PUT",
      headers: { authorization: "Bearer demo-1", "content-type": "application/json" },
      body: `{"name":"Ann","deep":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
    });
    expect(far.status).toBe(400);
  });

  it("DELETE: 204, then 404; and the tags of a user that comes back are new", async () => {
    const url = newUser();
    const first = tagOf(await put(url, { name: "Ann" }));
    expect((await remove(url, { "if-match": first })).status).toBe(204);
    expectProblem(await remove(url, { "if-match": first }), 404, "not-found");
    expectProblem(await send(url), 404, "not-found");
    expectProblem(await patch(url, { name: "Eve" }, { "if-match": first }), 404, "not-found");
    const again = await put(url, { name: "Ann" });
    expect(again.status).toBe(201);
    expect(tagOf(again)).not.toBe(first);
    expectProblem(await put(url, { name: "Eve" }, { "if-match": first }), 412, "precondition-failed");
  });

  it("PATCH merges: null removes, objects merge, a name stays", async () => {
    const url = newUser();
    const tag = tagOf(await put(url, { name: "Ann", address: { city: "Ulm", zip: "1" }, tags: ["a"] }));
    const changed = await patch(url, { address: { zip: null, street: "S" }, tags: ["b"] }, { "if-match": tag });
    expect(changed.body).toMatchObject({ name: "Ann", address: { city: "Ulm", street: "S" }, tags: ["b"] });
    expect(changed.body.address as object).not.toHaveProperty("zip");
    for (const body of [{ name: null }, { name: 7 }, []]) {
      expectProblem(await patch(url, body, { "if-match": tagOf(changed) }), 400, "validation");
    }
  });

  it("M-02 the retry of a keyed PATCH that succeeded replays instead of 412", async () => {
    const url = newUser();
    const tag = tagOf(await put(url, { name: "Ann" }));
    const key = randomUUID();
    const first = await patch(url, { name: "Anna" }, { "if-match": tag }, key);
    expect(first.status, first.text).toBe(200);
    await put(url, { name: "Annabel" }, { "if-match": tagOf(first) });
    const retry = await patch(url, { name: "Anna" }, { "if-match": tag }, key);
    expect([retry.status, retry.text, tagOf(retry)]).toEqual([200, first.text, tagOf(first)]);
    expect(retry.headers.get("idempotency-replayed")).toBe("true");
    expect((await send(url)).body).toMatchObject({ name: "Annabel" });
    expectProblem(await patch(url, { name: "Eve" }, { "if-match": tag }, key), 422, "idempotency-key-reused");
    expectProblem(await patch(url, { name: "Anna" }, { "if-match": tag }), 412, "precondition-failed");
  });

  it("M-02 a keyed PATCH refused with 412 or 428 is not stored: the same key works once the condition holds", async () => {
    const url = newUser();
    const tag = tagOf(await put(url, { name: "Ann" }));
    const key = randomUUID();
    expectProblem(await patch(url, { name: "Anna" }, {}, key), 428, "precondition-required");
    expectProblem(await patch(url, { name: "Anna" }, { "if-match": '"v99"' }, key), 412, "precondition-failed");
    expect((await patch(url, { name: "Anna" }, { "if-match": tag }, key)).status).toBe(200);
  });

  it("E-07 kill -9 inside a keyed PATCH: the retry changes the user once", async () => {
    const SHOP_DATA = newFolder();
    const lease = { IDEMPOTENCY_LEASE_MS: "1500" };
    const [slow, quick] = await Promise.all([
      startShop({ SHOP_DATA, ...lease, SHOP_HANDLER_DELAY_MS: "60000" }),
      startShop({ SHOP_DATA, ...lease }),
    ]);
    const tag = tagOf(await put(`${quick.url}/users/ann`, { name: "Ann" }));
    const key = randomUUID();
    const lost = patch(`${slow.url}/users/ann`, { name: "Anna" }, { "if-match": tag }, key).catch(() => "lost");
    await until("claimed", async () => (await send(`${quick.url}/metrics`)).text.includes('{state="processing"} 1'));
    slow.kill("SIGKILL");
    expect(await lost).toBe("lost");
    const answer = await until("the lease ends", async () => {
      const reply = await patch(`${quick.url}/users/ann`, { name: "Anna" }, { "if-match": tag }, key);
      return reply.status === 409 ? undefined : reply;
    });
    expect([answer.status, tagOf(answer)]).toEqual([200, '"v2"']);
  });
});
