import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import type { Readable } from "node:stream";
import { brotliCompressSync, createGunzip, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import express from "express";
import express4 from "express4";
import { captureBody } from "ichido/express";
import type { RequestBody } from "ichido";
import { afterEach, describe, expect, it, vi } from "vitest";
import { bodyLimitsOf } from "../../packages/ichido/src/http/body-limits.ts";
import {
  captureBytes,
  NodeNeutralRequest,
  noteBytes,
  type NodeRequest,
} from "../../packages/ichido/src/http/node-request.ts";
import { ask, connect, until } from "./wire.ts";

let server: http.Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  server?.close();
  if (server !== undefined) await once(server, "close");
  server = undefined;
});

interface Seen {
  body?: RequestBody;
  error?: { code: string; message: string };
}

type Listener = (request: http.IncomingMessage, response: http.ServerResponse) => void | Promise<void>;

async function serve(listener: Listener): Promise<number> {
  server = http.createServer((request, response) => void listener(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

async function look(request: http.IncomingMessage, requestBytesMax = 1_000_000): Promise<Seen> {
  try {
    return {
      body: await new NodeNeutralRequest(request as NodeRequest, bodyLimitsOf({ requestBytesMax }), request).body(),
    };
  } catch (error) {
    const { code, message } = error as { code: string; message: string };
    return { error: { code, message } };
  }
}

function text(seen: Seen): string {
  if (seen.body?.kind === "bytes") return Buffer.from(seen.body.bytes).toString();
  return seen.body === undefined ? `error ${seen.error?.code ?? ""}` : JSON.stringify(seen.body);
}

async function readAll(request: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe("F-08 F-12 an unread body", () => {
  it("F-12 is read whole and given back to whoever reads next, past the high water mark too", async () => {
    const port = await serve(async (request, response) => {
      const seen = await look(request);
      response.end(JSON.stringify({ seen: text(seen), read: await readAll(request) }));
    });
    for (const content of ["short", "x".repeat(700_000)]) {
      const { seen, read } = JSON.parse((await ask(port, { content })).body.toString()) as {
        seen: string;
        read: string;
      };
      expect([seen === content, read === content]).toEqual([true, true]);
    }
  });

  it("F-12 is read once it has arrived, where a library has put its own class in the place of Promise", async () => {
    const port = await serve(async (request, response) => {
      vi.stubGlobal("Promise", class extends Promise<unknown> {});
      const reading = look(request).finally(() => vi.unstubAllGlobals());
      response.writeContinue();
      response.end(text(await reading));
    });
    const socket = await connect(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n");
    let seen = "";
    socket.on("data", (chunk) => (seen += String(chunk)));
    await until("the handler", () => seen.includes("100 Continue"));
    socket.write("body");
    await until("the answer", () => seen.includes("200 OK"));
    expect(seen.split("\r\n\r\n").at(-1)).toBe("body");
    socket.destroy();
  });

  it("F-12 that arrived before anybody looked is seen from its first byte", async () => {
    const port = await serve(async (request, response) => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      const seen = await look(request);
      response.end(JSON.stringify({ seen: text(seen), read: await readAll(request) }));
    });
    for (const content of ["short", "x".repeat(300_000)]) {
      const reply = JSON.parse((await ask(port, { content })).body.toString()) as { seen: string; read: string };
      expect([reply.seen === content, reply.read === content]).toEqual([true, true]);
    }
  });

  it("F-12 that nobody reads afterwards leaves the connection usable", async () => {
    const port = await serve(async (request, response) => void response.end(text(await look(request)).slice(0, 5)));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (const content of ["a".repeat(200_000), "b".repeat(200_000), "c"]) {
      expect((await ask(port, { content, agent })).body.toString()).toBe(content.slice(0, 5));
    }
    agent.destroy();
  });

  it("F-12 that nobody reads after a mere capture leaves the connection usable", async () => {
    const port = await serve(async (request, response) => {
      // Part of it has arrived by now, the rest waits behind the high water mark.
      await new Promise((resolve) => setTimeout(resolve, 60));
      captureBytes(request, bodyLimitsOf({ requestBytesMax: 1_000_000 }));
      response.end("answered");
    });
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (let index = 0; index < 2; index += 1) {
      expect((await ask(port, { content: "a".repeat(900_000), agent })).body.toString()).toBe("answered");
    }
    agent.destroy();
  });

  it("F-12 that was captured and left behind the high water mark is pulled in", async () => {
    const port = await serve(async (request, response) => {
      captureBytes(request, bodyLimitsOf({ requestBytesMax: 1_000_000 }));
      await new Promise((resolve) => setTimeout(resolve, 60));
      const seen = await look(request);
      response.end(JSON.stringify({ seen: text(seen).length, read: (await readAll(request)).length }));
    });
    const reply = await ask(port, { content: "a".repeat(500_000) });
    expect(reply.body.toString()).toBe('{"seen":500000,"read":500000}');
  });

  it("F-08 nothing, zero length and empty chunks are alike", async () => {
    const port = await serve(async (request, response) => void response.end(text(await look(request))));
    const none = JSON.stringify({ kind: "none" });
    expect((await ask(port)).body.toString()).toBe(none);
    expect((await ask(port, { headers: { "content-length": "0" } })).body.toString()).toBe(none);
    expect((await ask(port, { headers: { "transfer-encoding": "chunked" } })).body.toString()).toBe(none);
    expect((await ask(port, { headers: { "transfer-encoding": "chunked" }, content: "{}" })).body.toString()).toBe(
      "{}",
    );
  });

  it("A02 that is cut short by the client claims nothing", async () => {
    const seen: Seen[] = [];
    const port = await serve(async (request) => void seen.push(await look(request)));
    const socket = await connect(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf");
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.destroy();
    await until("the error", () => seen.length === 1);
    expect(seen[0]?.error?.code).toBe("request-unreadable");
  });

  it("E-05 outlives its client until the handler has read it", async () => {
    const read: string[] = [];
    const port = await serve(async (request) => {
      await look(request);
      await once(request.socket, "close");
      read.push(await readAll(request));
    });
    const socket = await connect(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nfull");
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.destroy();
    await until("the handler", () => read.length === 1);
    expect(read).toEqual(["full"]);
  });

  it("E-01 declared to be larger than the bound is refused before it is sent", async () => {
    const port = await serve(async (request, response) => void response.end(text(await look(request, 1_000))));
    const socket = await connect(port, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\n");
    let seen = "";
    socket.on("data", (chunk: Buffer) => {
      seen += chunk.toString();
    });
    await until("the refusal", () => seen.includes("error request-too-large"));
    socket.destroy();
  });

  it("E-01 larger than the bound is refused, declared or not", async () => {
    const port = await serve(async (request, response) => {
      const seen = await look(request, 1_000);
      response.setHeader("connection", "close");
      response.end(text(seen));
    });
    const content = "x".repeat(5_000);
    expect((await ask(port, { content })).body.toString()).toBe("error request-too-large");
    const chunked = { "transfer-encoding": "chunked" };
    expect((await ask(port, { content, headers: chunked })).body.toString()).toBe("error request-too-large");
    expect((await ask(port, { content: "x".repeat(1_000), headers: chunked })).body.toString()).toHaveLength(1_000);
  });
});

describe("F-13 content codings", () => {
  const content = JSON.stringify({ amount: 100, text: "é".repeat(500) });
  const coded: Record<string, Buffer> = {
    gzip: gzipSync(content),
    "x-gzip": gzipSync(content, { level: 1 }),
    deflate: deflateSync(content),
    "deflate ": deflateRawSync(content),
    br: brotliCompressSync(content),
    "gzip, br": brotliCompressSync(gzipSync(content)),
    identity: Buffer.from(content),
  };

  async function echo(): Promise<number> {
    return serve(async (request, response) => void response.end(text(await look(request, 20_000))));
  }

  it("F-13 are removed", async () => {
    const port = await echo();
    for (const [coding, bytes] of Object.entries(coded)) {
      const reply = await ask(port, { content: bytes, headers: { "content-encoding": coding } });
      expect([coding, reply.body.toString()]).toEqual([coding, content]);
    }
  });

  it("F-13 that are unknown or unsound make the request unreadable", async () => {
    const port = await echo();
    const ask400 = async (coding: string, bytes: Buffer): Promise<string> =>
      (await ask(port, { content: bytes, headers: { "content-encoding": coding } })).body.toString();
    expect(await ask400("compress", Buffer.from("x"))).toBe("error request-unreadable");
    expect(await ask400("gzip", Buffer.from("not gzip"))).toBe("error request-unreadable");
    expect(await ask400("gzip", gzipSync(content).subarray(0, -10))).toBe("error request-unreadable");
    expect(await ask400("__proto__", Buffer.from("x"))).toBe("error request-unreadable");
    expect(await ask400("gzip,gzip,gzip,gzip,gzip", Buffer.from("x"))).toBe("error request-unreadable");
  });

  it("F-13 are not removed from bytes that a framework kept after another layer had done so", async () => {
    const port = await serve(async (request, response) => {
      const inflated = Buffer.from(await readAll(request.pipe(createGunzip())));
      delete request.headers["content-encoding"];
      noteBytes(request, inflated);
      response.end(text(await look(request)));
    });
    const reply = await ask(port, { content: gzipSync(content), headers: { "content-encoding": "gzip" } });
    expect(reply.body.toString()).toBe(content);
  });

  it("F-13 that blow up are stopped at the bound", async () => {
    const port = await echo();
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const reply = await ask(port, { content: bomb, headers: { "content-encoding": "gzip" } });
    expect(reply.body.toString()).toBe("error request-too-large");
  });
});

for (const [name, framework] of Object.entries({
  "express 4": express4 as unknown as typeof express,
  "express 5": express,
})) {
  describe(`body parsers of ${name}`, () => {
    type Mount = (app: express.Express) => void;
    async function app(mount: Mount, bytesMax?: number): Promise<number> {
      const made = framework();
      mount(made);
      made.use((request: http.IncomingMessage & { body?: unknown }, response: http.ServerResponse) => {
        void look(request, bytesMax).then((seen) => {
          const { body } = request;
          response.end(JSON.stringify({ seen: text(seen), message: seen.error?.message, body }));
        });
      });
      return serve(made as unknown as http.RequestListener);
    }
    const json = { "content-type": "application/json" };
    const parse = (reply: { body: Buffer }): { seen: string; body: unknown; message?: string } =>
      JSON.parse(reply.body.toString()) as { seen: string; body: unknown };

    it("F-12 captured bytes are those that were sent, and the parser works as before", async () => {
      const port = await app((made) => void made.use(captureBody(), framework.json({ limit: "1mb" })));
      for (const content of ['{ "a": 1.0 }', JSON.stringify({ a: "x".repeat(400_000) })]) {
        const reply = parse(await ask(port, { content, headers: json }));
        expect([reply.seen === content, JSON.stringify(reply.body)]).toEqual([
          true,
          JSON.stringify(JSON.parse(content)),
        ]);
      }
    });

    it("F-13 captured bytes that the parser inflated are decoded for the comparison", async () => {
      const port = await app((made) => void made.use(captureBody(), framework.json()));
      const headers = { ...json, "content-encoding": "gzip" };
      const reply = parse(await ask(port, { content: gzipSync('{"a":1}'), headers }));
      expect(reply).toMatchObject({ seen: '{"a":1}', body: { a: 1 } });
    });

    it("F-13 captured bytes are decoded where the layer that inflated them took the header away", async () => {
      const inflate = async (request: express.Request, next: express.NextFunction): Promise<void> => {
        request.body = JSON.parse(await readAll(request.pipe(createGunzip())));
        delete request.headers["content-encoding"];
        next();
      };
      const port = await app((made) => {
        made.use(captureBody(), (request, _response, next) => void inflate(request, next));
      });
      const headers = { ...json, "content-encoding": "gzip" };
      const reply = parse(await ask(port, { content: gzipSync('{"a":1}'), headers }));
      expect(reply).toMatchObject({ seen: '{"a":1}', body: { a: 1 } });
    });

    it("F-12 a capture mounted behind slow middleware still sees the first byte", async () => {
      const slow: express.RequestHandler = (_request, _response, next) => void setTimeout(next, 50);
      const port = await app((made) => void made.use(slow, captureBody(), framework.json({ limit: "1mb" })));
      const content = JSON.stringify({ a: "x".repeat(200_000) });
      const reply = parse(await ask(port, { content, headers: json }));
      expect([reply.seen === content, JSON.stringify(reply.body) === content]).toEqual([true, true]);
    });

    it("F-03 without capture the parsed body is compared; text and raw bodies as bytes", async () => {
      const port = await app((made) => void made.use(framework.json(), framework.text(), framework.raw()));
      const parsed = parse(await ask(port, { content: '{ "a": 1 }', headers: json }));
      expect(parsed.seen).toBe('{"kind":"parsed","value":{"a":1}}');
      expect(parse(await ask(port, { content: "hi", headers: { "content-type": "text/plain" } })).seen).toBe("hi");
      const octets = { "content-type": "application/octet-stream" };
      expect(parse(await ask(port, { content: "raw", headers: octets })).seen).toBe("raw");
    });

    it("F-09 a body that no parser took is read from the stream, whatever the parser left in req.body", async () => {
      const port = await app((made) => void made.use(framework.json()));
      const reply = parse(await ask(port, { content: "a=1", headers: { "content-type": "text/x-odd" } }));
      expect(reply.seen).toBe("a=1");
    });

    it("F-08 empty chunks through the JSON parser count as no body", async () => {
      const port = await app((made) => void made.use(framework.json()));
      const reply = parse(await ask(port, { headers: { ...json, "transfer-encoding": "chunked" } }));
      expect(reply.seen).toBe('{"kind":"none"}');
    });

    it("A28 a multipart body that was read without capture is an error that says what to mount", async () => {
      const consume: express.RequestHandler = (request, _response, next) => {
        request.on("end", () => {
          if (request.is("multipart/*")) request.body = { amount: "100" };
          next();
        });
        request.resume();
      };
      const port = await app((made) => void made.use(consume));
      for (const type of ["multipart/form-data; boundary=x", "application/json"]) {
        const reply = parse(await ask(port, { content: "--x--", headers: { "content-type": type } }));
        expect([reply.seen, reply.message]).toEqual([
          "error body-unavailable",
          expect.stringContaining("captureBody()"),
        ]);
      }
    });

    it("E-01 captured bytes past the bound are refused although the parser took them", async () => {
      const port = await app((made) => void made.use(captureBody({ requestBytesMax: 100 }), framework.json()));
      const content = JSON.stringify({ a: "x".repeat(1_000) });
      const reply = parse(await ask(port, { content, headers: json }));
      expect([reply.seen, JSON.stringify(reply.body)]).toEqual(["error request-too-large", content]);
    });
  });
}

it("H-08 repeated header lines stay apart, in order", async () => {
  const port = await serve((request, response) => {
    const neutral = new NodeNeutralRequest(request as NodeRequest, bodyLimitsOf({ requestBytesMax: 1 }), request);
    response.end(JSON.stringify([neutral.headerLines("idempotency-key"), neutral.headerLines("absent")]));
  });
  const reply = await ask(port, { headers: { "Idempotency-Key": ["a", "b"] } });
  expect(reply.body.toString()).toBe('[["a","b"],[]]');
});
