/** Forms that a browser submits by itself: the key in a hidden field, through a real socket. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createIchido, type ProfileName } from "ichido";
import { idempotent, type FetchWireOptions } from "ichido/fetch";
import { memoryStore } from "ichido/memory";
import { fromReact } from "ichido/react";
import * as React from "react";
import { renderToString } from "react-dom/server";
import { afterEach, describe, expect, it } from "vitest";
import { formOf } from "./upload-apps.ts";
import { ask, type Reply } from "./wire.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Running {
  readonly runs: () => number;
  post(type: string, content: string | Buffer, headers?: http.OutgoingHttpHeaders): Promise<Reply>;
}

async function start(
  wire: FetchWireOptions = { keyField: "idempotencyKey" },
  profile: ProfileName = "ietf",
): Promise<Running> {
  const ichido = createIchido<Request>({
    store: memoryStore(),
    scope: () => ({ principal: "u" }),
    onUnknown: "rerun",
    profile,
  });
  let runs = 0;
  const handler = idempotent(
    ichido,
    { operation: "order.create" },
    async (request) => {
      runs += 1;
      const form = await request.formData();
      await new Promise((resolve) => setTimeout(resolve, 100));
      return Response.json({ run: runs, fields: [...form.keys()] }, { status: 201 });
    },
    wire,
  );
  const listener = getRequestListener((request) => handler(request));
  const server = http.createServer((request, response) => void listener(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.close();
    server.closeAllConnections();
    await ichido.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    runs: () => runs,
    post: (type, content, headers = {}) => ask(port, { content, headers: { "content-type": type, ...headers } }),
  };
}

const urlencoded = "application/x-www-form-urlencoded";
const codeOf = ({ body }: Reply): string => (JSON.parse(body.toString()) as { code: string }).code;

type Send = (app: Running, key: string | undefined, amount: string) => Promise<Reply>;
const sends: Readonly<Record<string, Send>> = {
  urlencoded: (app, key, amount) =>
    app.post(urlencoded, new URLSearchParams({ ...(key !== undefined && { idempotencyKey: key }), amount }).toString()),
  multipart: (app, key, amount) => {
    const fields = [["amount", amount], ...(key === undefined ? [] : [["idempotencyKey", key] as const])] as const;
    const { type, content } = formOf(fields as never);
    return app.post(type, content);
  },
  "large multipart": (app, key, amount) => {
    const fields = [["file", Buffer.alloc(2_000_000, amount)], ...(key === undefined ? [] : [["idempotencyKey", key]])];
    const { type, content } = formOf(fields as never);
    return app.post(type, content);
  },
};

describe.each(Object.entries(sends))("a key in a hidden field, %s", (_, send) => {
  it("C-01 K-02 a double submit runs once; the next one replays, other content is refused", async () => {
    const app = await start();
    const key = randomUUID();
    const both = await Promise.all([send(app, key, "100"), send(app, key, "100")]);
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([201, 409]));
    const again = await send(app, key, "100");
    expect([again.status, again.headers["idempotency-replayed"]]).toEqual([201, "true"]);
    const other = await send(app, key, "200");
    expect([other.status, codeOf(other)]).toEqual([422, "idempotency-key-reused"]);
    expect(app.runs()).toBe(1);
    expect((await send(app, randomUUID(), "100")).status).toBe(201);
  });

  it("K-03 H-05 a missing field is a missing key, an empty one an unsound key", async () => {
    const app = await start();
    const missing = await send(app, undefined, "100");
    expect([missing.status, codeOf(missing)]).toEqual([400, "idempotency-key-required"]);
    const empty = await send(app, "", "100");
    expect([empty.status, codeOf(empty)]).toEqual([400, "idempotency-key-invalid"]);
    const long = await send(app, "x".repeat(300), "100");
    expect([long.status, codeOf(long)]).toEqual([400, "idempotency-key-invalid"]);
    expect(app.runs()).toBe(0);
  });

  it("is looked at only where it was asked for", async () => {
    const app = await start({});
    const refused = await send(app, randomUUID(), "100");
    expect([refused.status, codeOf(refused)]).toEqual([400, "idempotency-key-required"]);
  });

  it.each(["stripe", "adr-007"] as const)("serves the profile %s as its header would", async (profile) => {
    const app = await start({ keyField: "idempotencyKey" }, profile);
    const key = randomUUID();
    expect((await send(app, key, "100")).status).toBe(201);
    expect((await send(app, key, "100")).status).toBe(profile === "adr-007" ? 200 : 201);
    expect(app.runs()).toBe(1);
  });
});

describe("a key in a hidden field", () => {
  it("H-08 the header wins; a repeated field is refused; quotes and backslashes are part of the key", async () => {
    const app = await start();
    const content = "idempotencyKey=field&amount=1";
    expect((await app.post(urlencoded, content, { "idempotency-key": '"header"' })).status).toBe(201);
    expect((await app.post(urlencoded, content)).headers["idempotency-replayed"]).toBeUndefined();
    expect((await app.post(urlencoded, `${content}&idempotencyKey=field`)).status).toBe(400);
    const odd = `idempotencyKey=${encodeURIComponent('a"b\\c')}&amount=1`;
    expect((await app.post(urlencoded, odd)).status).toBe(201);
    const same = await app.post(urlencoded, odd, { "idempotency-key": '"a\\"b\\\\c"' });
    expect(same.headers["idempotency-replayed"]).toBe("true");
  });

  it("E-01 a body past the bound is 413, not a missing key", async () => {
    for (const profile of ["ietf", "adr-007", "stripe"] as const) {
      const app = await start({ keyField: "idempotencyKey", requestBytesMax: 1_000 }, profile);
      const form = formOf([["scan", Buffer.alloc(2_000)]]);
      for (const [type, content] of [
        [urlencoded, `a=${"x".repeat(2_000)}`] as const,
        [form.type, form.content] as const,
      ]) {
        const refused = await app.post(type, content);
        expect([refused.status, codeOf(refused)]).toEqual([413, "request-too-large"]);
      }
    }
  });

  it("is the field that IdempotencyField renders", async () => {
    const { IdempotencyField } = fromReact(React as never);
    const html = renderToString(
      React.createElement(IdempotencyField as never, { defaultValue: randomUUID() } as never),
    );
    const [, name = "", value = ""] = /name="([^"]+)".*value="([^"]+)"/.exec(html) ?? [];
    const app = await start({ keyField: name });
    const content = new URLSearchParams({ [name]: value, amount: "1" }).toString();
    expect((await app.post(urlencoded, content)).status).toBe(201);
    expect((await app.post(urlencoded, content)).headers["idempotency-replayed"]).toBe("true");
    expect(name).toBe("idempotencyKey");
  });

  it("an empty name is refused at set-up", async () => {
    await expect(start({ keyField: "" })).rejects.toThrow(/option keyField/);
  });
});
