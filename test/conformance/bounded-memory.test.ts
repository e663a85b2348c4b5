/** Large bodies and many keys do not make a server grow: measured on a process of its own. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { spawnChild, type Child } from "ichido/testing";

const mebibyte = 1_048_576;
let child: Child;
let base = "";

beforeAll(async () => {
  child = await spawnChild(new URL("bounded-memory.child.ts", import.meta.url), { execArgv: ["--expose-gc"] });
  const [, port] = await child.waitFor(/^listening on (\d+)$/, 30_000);
  base = `http://127.0.0.1:${port}`;
});

afterAll(async () => {
  await child?.stop();
});

/** In bytes: what is in use after a collection, and the most since the last look. */
async function memory(): Promise<{ readonly used: number; readonly peak: number }> {
  return (await (await fetch(`${base}/memory`)).json()) as { used: number; peak: number };
}

async function post(path: string, body?: BodyInit, key: string = randomUUID()): Promise<Response> {
  const headers = { "idempotency-key": key, "content-type": "application/octet-stream" };
  return fetch(base + path, { method: "POST", headers, body: body ?? null });
}

describe("bounded memory", () => {
  it("A20 uploads of 20 MB leave nothing in memory once they are answered", async () => {
    const body = Buffer.alloc(20 * mebibyte, "upload");
    expect(await (await post("/upload", body)).json()).toEqual({ bytes: body.length });
    const before = await memory();
    for (let each = 0; each < 8; each += 1) expect((await post("/upload", body)).status).toBe(201);
    const after = await memory();
    expect(after.used - before.used).toBeLessThan(10 * mebibyte);
  }, 120_000);

  it("A21 R-10 a 100 MB answer is streamed live in bounded memory, and is not run again", async () => {
    const before = await memory();
    const key = randomUUID();
    const response = await post("/download", undefined, key);
    let bytes = 0;
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) bytes += chunk.length;
    expect(bytes).toBe(100 * mebibyte);
    const after = await memory();
    expect(after.used - before.used).toBeLessThan(10 * mebibyte);
    expect(after.peak - before.used).toBeLessThan(60 * mebibyte);
    expect((await post("/download", undefined, key)).status).toBe(409);
  }, 120_000);

  it("A33 ten thousand keys, expiring, leave no trace in memory", async () => {
    const loop = async (count: number): Promise<void> => {
      for (let start = 0; start < count; start += 50) {
        const answers = await Promise.all(Array.from({ length: 50 }, () => post("/small")));
        for (const answer of answers) {
          await answer.arrayBuffer();
          if (answer.status === 503) await new Promise((resolve) => setTimeout(resolve, 50));
          else expect(answer.status).toBe(201);
        }
      }
    };
    await loop(3_000);
    const before = await memory();
    await loop(7_000);
    expect((await memory()).used - before.used).toBeLessThan(10 * mebibyte);
  }, 180_000);
});
