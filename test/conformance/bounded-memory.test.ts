/** Large bodies and many keys do not make a server grow: measured on a process of its own. */
import { createHash, randomBytes, randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { spawnChild, type Child } from "ichido/testing";
import { formOf } from "./upload-apps.ts";

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

interface Memory {
  readonly used: number;
  readonly peak: number;
  readonly held: number;
}

/** In bytes: what is in use after a collection, the most since the last look, and the most held by an upload that has arrived. */
async function memory(): Promise<Memory> {
  return (await (await fetch(`${base}/memory`)).json()) as Memory;
}

async function post(
  path: string,
  body?: BodyInit,
  key: string = randomUUID(),
  type = "application/octet-stream",
): Promise<Response> {
  const headers = { "idempotency-key": key, "content-type": type };
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

  it.each(["/multipart", "/web"])(
    "A28 multipart uploads of 20 MB to %s pass in a fraction of their size, replay, and are refused when changed",
    async (path) => {
      const file = randomBytes(20 * mebibyte);
      const send = async (content: Buffer, key?: string): Promise<{ reply: Response; sent: Buffer }> => {
        const { content: sent, type } = formOf([
          ["note", "x"],
          ["file", content],
        ]);
        return { reply: await post(path, new Uint8Array(sent), key, type), sent };
      };
      await (await send(file)).reply.arrayBuffer();
      const before = await memory();
      const keys = Array.from({ length: 3 }, () => randomUUID());
      for (const key of keys) {
        const { reply, sent } = await send(file, key);
        const sha256 = createHash("sha256").update(sent).digest("hex");
        expect([reply.status, await reply.json()]).toEqual([201, { bytes: sent.length, sha256 }]);
      }
      for (const key of keys) {
        const { reply } = await send(file, key);
        expect([reply.status, reply.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
        await reply.arrayBuffer();
      }
      file[19 * mebibyte] = (file[19 * mebibyte] ?? 0) ^ 1;
      const { reply } = await send(file, keys[0]);
      expect(reply.status).toBe(422);
      await reply.arrayBuffer();
      const after = await memory();
      expect(after.used - before.used).toBeLessThan(5 * mebibyte);
      expect(after.held).toBeGreaterThan(0);
      // A body that is kept whole would be here with its 20.
      expect(after.held - before.used).toBeLessThan(16 * mebibyte);
    },
    120_000,
  );

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
