import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createIchido, type Execution, type HandlerOutcome, type NeutralResponse, type Settled } from "ichido";
import { memoryStore } from "ichido/memory";
import { idempotent } from "ichido/node";
import { afterEach, describe, expect, it } from "vitest";
import { captureResponse } from "../../packages/ichido/src/http/node-response.ts";
import { sendAnswer } from "../../packages/ichido/src/http/send.ts";
import { ask, connect, startWire, until, type Reply, type Wire, type WireOptions } from "./wire.ts";

/** The very modules that Express and Fastify use. */
const require = createRequire(import.meta.url);
const ofExpress = createRequire(require.resolve("express"));
const ofFastify = createRequire(require.resolve("fastify"));
const onFinished = ofExpress("on-finished") as (response: ServerResponse, listener: () => void) => void;
const send = ofExpress("send") as (request: IncomingMessage, path: string) => { pipe(response: ServerResponse): void };
const inject = ofFastify("light-my-request") as (
  listener: RequestListener,
  request: { readonly method: string; readonly url: string },
) => Promise<{ readonly statusCode: number; readonly payload: string }>;

let wire: Wire | undefined;

async function start(handler: RequestListener, options?: WireOptions): Promise<Wire> {
  wire = await startWire(handler, options);
  return wire;
}

afterEach(async () => {
  await wire?.close();
  wire = undefined;
});

function answered(
  of: Wire,
  index = 0,
): { status: number; headers: readonly (readonly [string, string])[]; body: string } {
  const outcome = of.recorded.outcomes[index];
  if (outcome?.kind !== "answered") throw new Error(`expected an answer, got ${outcome?.kind ?? "nothing"}`);
  const { status, headers, body } = outcome.response;
  return { status, headers, body: Buffer.from(body).toString() };
}

const post = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";

describe("A21 every way of writing is captured and delivered", () => {
  const ways: Record<string, (response: ServerResponse) => void> = {
    "end with text": (response) => void response.writeHead(201, { "x-a": "1" }).end("hello world"),
    "writes, then end": (response) => {
      response.statusCode = 201;
      response.setHeader("X-A", "1");
      response.write("hello ");
      response.write(Buffer.from("world"), () => response.end());
    },
    "end with an encoding": (response) =>
      void response.writeHead(201, "Made", { "x-a": 1 }).end("aGVsbG8gd29ybGQ=", "base64"),
    "flat header list": (response) => void response.writeHead(201, ["X-A", "1"]).end("hello world"),
    pipe: (response) => {
      response.writeHead(201, { "x-a": "1" });
      Readable.from(["hello ", "world"]).pipe(response);
    },
    pipeline: (response) => {
      response.writeHead(201, { "x-a": "1" });
      void pipeline(Readable.from(["hello ", "world"]), response);
    },
    "a web stream": (response) => {
      response.writeHead(201, { "x-a": "1" });
      void pipeline(new Blob(["hello world"]).stream(), response);
    },
    "a reused buffer": (response) => {
      response.writeHead(201, { "x-a": "1" });
      const buffer = Buffer.from("hello ");
      response.write(buffer, () => {
        buffer.write("world ");
        response.end(buffer.subarray(0, 5));
      });
    },
  };
  for (const [name, write] of Object.entries(ways)) {
    it(`A21 ${name}`, async () => {
      const { port } = await start((_request, response) => write(response));
      const reply = await ask(port);
      expect([reply.status, reply.headers["x-a"], reply.body.toString()]).toEqual([201, "1", "hello world"]);
      expect(reply.headers["content-length"]).toBe("11");
      expect(answered(wire as Wire)).toMatchObject({ status: 201, body: "hello world" });
      expect(answered(wire as Wire).headers).toContainEqual(["x-a", "1"]);
    });
  }

  it("A21 nothing leaves before the outcome is recorded", async () => {
    let letGo: (settled: Settled) => void = () => undefined;
    const held = new Promise<Settled>((resolve) => {
      letGo = resolve;
    });
    const { port, recorded } = await start(
      (_request, response) => {
        response.write("a");
        response.end("b");
      },
      { settled: () => held },
    );
    const socket = await connect(port, post);
    let seen = "";
    socket.on("data", (chunk: Buffer) => {
      seen += chunk.toString("latin1");
    });
    await until("settling", () => recorded.outcomes.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(seen).toBe("");
    letGo({ kind: "send", addHeaders: [["idempotency-stored", "false"]] });
    await until("the answer", () => seen.endsWith("ab"));
    expect(seen).toMatch(/idempotency-stored: false/i);
    socket.destroy();
  });
});

describe("the handler sees a response as Node makes it", () => {
  it("A21 headers count as sent after the first write, and cannot be changed any more", async () => {
    const seen: unknown[] = [];
    const { port } = await start((_request, response) => {
      seen.push(response.headersSent, response.writableEnded);
      response.write("x");
      seen.push(response.headersSent, response.writableEnded);
      try {
        response.setHeader("x-late", "1");
      } catch (error) {
        seen.push((error as { code: string }).code);
      }
      try {
        response.writeHead(500);
      } catch (error) {
        seen.push((error as { code: string }).code);
      }
      response.end();
      seen.push(response.writableEnded, response.finished);
    });
    expect((await ask(port)).body.toString()).toBe("x");
    expect(seen).toEqual([false, false, true, false, "ERR_HTTP_HEADERS_SENT", "ERR_HTTP_HEADERS_SENT", true, false]);
  });

  it("A21 an answer has ended from its end on, also while the outer of two operations records what the inner one has", async () => {
    const store = memoryStore();
    const letGo = Promise.withResolvers<void>();
    let recording = "";
    const ichido = createIchido({
      store: {
        ...store,
        async complete(request) {
          recording = request.identity.operation;
          if (recording === "outer") await letGo.promise;
          return store.complete(request);
        },
      },
      dangerouslyShareKeys: true,
      onUnknown: "rerun",
    });
    const seen: unknown[] = [];
    let held: ServerResponse | undefined;
    const inner = idempotent(ichido, { operation: "inner" }, (_request, response) => {
      held = response;
      response.end("done");
    });
    const outer = idempotent(ichido, { operation: "outer" }, inner);
    const server = createServer((request, response) => void outer(request, response)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const reply = ask((server.address() as AddressInfo).port, { headers: { "idempotency-key": "k-1" } });
    await until("the outer operation", () => recording === "outer");
    await new Promise(setImmediate);
    seen.push(held?.headersSent, held?.writableEnded, held?.finished);
    letGo.resolve();
    seen.push((await reply).body.toString(), held?.writableEnded);
    server.close();
    await ichido.close();
    expect(seen).toEqual([true, true, false, "done", true]);
  });

  it("A21 what is written after the end changes nothing and does not end the process", async () => {
    const errors: unknown[] = [];
    const { port } = await start((_request, response) => {
      response.end("first");
      response.write("second", (error) => errors.push((error as { code?: string } | null)?.code));
      response.end("third");
      response.end();
    });
    expect((await ask(port)).body.toString()).toBe("first");
    expect(errors).toEqual(["ERR_STREAM_WRITE_AFTER_END"]);
    expect(wire?.recorded.outcomes).toHaveLength(1);
  });

  it("A21 a bad status or header fails in the handler, not later", async () => {
    const codes: unknown[] = [];
    const { port } = await start((_request, response) => {
      for (const attempt of [
        () => response.writeHead(42),
        () => response.writeHead(200, { "x-a": "b\nc" }),
        () => response.writeHead(200, "Two\nlines"),
        () => response.write(7 as unknown as string),
        () => response.write(null as unknown as string),
      ]) {
        try {
          attempt();
        } catch (error) {
          codes.push((error as { code: string }).code);
        }
      }
      response.statusMessage = "Fine";
      response.end("fine");
    });
    expect((await ask(port)).body.toString()).toBe("fine");
    expect(codes).toEqual([
      "ERR_HTTP_INVALID_STATUS_CODE",
      "ERR_INVALID_CHAR",
      "ERR_INVALID_CHAR",
      "ERR_INVALID_ARG_TYPE",
      "ERR_STREAM_NULL_VALUES",
    ]);
  });

  it("A21 finish, close and the end callback come after the answer left", async () => {
    const events: string[] = [];
    const { port } = await start((_request, response) => {
      response.on("finish", () => events.push(`finish ${String(response.writableFinished)}`));
      response.on("close", () => events.push("close"));
      response.end("x", () => events.push("callback"));
      events.push("ended");
    });
    await ask(port);
    await until("close", () => events.includes("close"));
    expect(events.toSorted()).toEqual(["callback", "close", "ended", "finish true"]);
    expect(events.at(-1)).toBe("close");
  });

  it("R-05 informational answers go out at once and are no part of the answer", async () => {
    const { port } = await start((_request, response) => {
      response.writeEarlyHints({ link: "</a.css>; rel=preload; as=style" });
      response.writeProcessing();
      response.writeHead(201).end("made");
    });
    const reply = await ask(port);
    expect(reply.informational).toEqual([103, 102]);
    expect([reply.status, answered(wire as Wire).status]).toEqual([201, 201]);
  });

  it("R-05 204, 304 and answers to HEAD have no content", async () => {
    const { port } = await start((request, response) => {
      response.statusCode = Number(request.headers["x-status"]);
      if (response.statusCode === 200) response.setHeader("Content-Length", 4);
      response.write("body");
      response.end();
    });
    for (const status of ["204", "304"]) {
      const reply = await ask(port, { headers: { "x-status": status } });
      expect([reply.status, reply.body.length, reply.headers["content-length"]]).toEqual([
        Number(status),
        0,
        undefined,
      ]);
    }
    const head = await ask(port, { method: "HEAD", headers: { "x-status": "200" } });
    expect([head.status, head.body.length, head.headers["content-length"]]).toEqual([200, 0, "4"]);
    expect([0, 1, 2].map((index) => answered(wire as Wire, index).body)).toEqual(["", "", ""]);
  });

  it("A23 trailers pass and are not part of what is kept", async () => {
    const { port } = await start((_request, response) => {
      response.setHeader("Trailer", "X-Sum");
      response.write("content");
      response.addTrailers({ "X-Sum": "42" });
      response.end();
    });
    const reply = await ask(port);
    expect([reply.body.toString(), reply.trailers["x-sum"]]).toEqual(["content", "42"]);
    expect(answered(wire as Wire).body).toBe("content");
  });

  it("A23 a Trailer header without trailers does not break the answer", async () => {
    const { port } = await start((_request, response) => {
      response.setHeader("Trailer", "X-Sum");
      response.end("content");
    });
    expect((await ask(port)).body.toString()).toBe("content");
  });

  it("A26 layers mounted after the capture add their headers before they are captured", async () => {
    const { port } = await start((_request, response) => {
      const writeHead = response.writeHead.bind(response) as (...values: unknown[]) => ServerResponse;
      (response as { writeHead: unknown }).writeHead = (...values: unknown[]) => {
        response.setHeader("X-Inner", "1");
        return writeHead(...values);
      };
      response.end("content");
    });
    expect((await ask(port)).headers["x-inner"]).toBe("1");
    expect(answered(wire as Wire).headers).toEqual([["x-inner", "1"]]);
  });

  it("A22 repeated headers keep their multiplicity and order", async () => {
    const { port } = await start((_request, response) => {
      response.setHeader("Link", ["</a>; rel=next", "</b>; rel=prev"]);
      response.appendHeader("Set-Cookie", "a=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT");
      response.appendHeader("Set-Cookie", "b=2");
      response.end();
    });
    await ask(port);
    expect(answered(wire as Wire).headers).toEqual([
      ["link", "</a>; rel=next"],
      ["link", "</b>; rel=prev"],
      ["set-cookie", "a=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT"],
      ["set-cookie", "b=2"],
    ]);
  });

  it("R-14 headers that outer layers had set are not recorded unless the handler changed them", async () => {
    const { port } = await start(
      (_request, response) => {
        response.setHeader("Vary", "Origin, Accept");
        response.setHeader("X-Own", "1");
        response.end();
      },
      {
        outer(_request, response) {
          response.setHeader("X-Request-Serial", "7");
          response.setHeader("Vary", "Origin");
        },
      },
    );
    const reply = await ask(port);
    expect(reply.headers["x-request-serial"]).toBe("7");
    expect(answered(wire as Wire).headers).toEqual([
      ["vary", "Origin, Accept"],
      ["x-own", "1"],
    ]);
  });

  it("C-05 a replacement carries nothing of what the handler set", async () => {
    const response = { status: 409, headers: [["content-type", "text/plain"]] as const, body: Buffer.from("lost") };
    const { port } = await start(
      (_request, outgoing) => {
        outgoing.setHeader("X-Handler", "1");
        outgoing.setHeader("X-Outer", "changed");
        outgoing.setHeader("Date", "Thu, 01 Jan 1970 00:00:00 GMT");
        outgoing.statusMessage = "Wonderful";
        outgoing.writeHead(201).end("made");
      },
      {
        outer: (_request, outgoing) => void outgoing.setHeader("X-Outer", "1"),
        settled: () => ({ kind: "replace", response }),
      },
    );
    const reply = await ask(port);
    expect([reply.status, reply.body.toString(), reply.headers["x-handler"], reply.headers["x-outer"]]).toEqual([
      409,
      "lost",
      undefined,
      "1",
    ]);
    expect(Date.parse(reply.headers.date ?? "")).toBeGreaterThan(Date.now() - 60_000);
  });
});

describe("E-08 answers that the context makes", () => {
  it("E-08 are sent at once and verbatim, over whatever the handler wrote, and outlive the error that follows", async () => {
    const provided = Promise.withResolvers<NeutralResponse>();
    // More than the kernel takes at once: the end of the connection must wait for the rest.
    const body = Buffer.alloc(20_000_000, "p");
    const { port, recorded } = await start(
      (request, response) => {
        response.setHeader("x-handler", "1");
        response.write("half");
        provided.resolve({ status: 201, headers: [["x-made", "by context"]], body });
        setImmediate(() => {
          expect(response.headersSent && response.writableEnded).toBe(true);
          response.end("too late");
          request.socket.destroy();
        });
      },
      { provided: provided.promise },
    );
    const reply = await ask(port);
    expect([reply.status, reply.headers["x-made"], reply.headers["x-handler"]]).toEqual([201, "by context", undefined]);
    expect(reply.body.equals(body)).toBe(true);
    expect(recorded.outcomes).toEqual([]);
  });
});

describe("A27 answers that cannot be held", () => {
  it("A27 past the cap the head is recorded first, then all bytes go live with backpressure", async () => {
    const size = 3_000_000;
    let written = 0;
    const { port, recorded } = await start(
      (_request, response) => {
        response.writeHead(200, { location: "/big" });
        const chunk = Buffer.alloc(50_000, "x");
        const more = (): void => {
          while (written < size) {
            written += chunk.length;
            if (!response.write(chunk)) {
              response.once("drain", more);
              return;
            }
          }
          response.end();
        };
        more();
      },
      { bodyBytesMax: 100_000 },
    );
    const reply = await ask(port);
    expect(reply.body.length).toBe(size);
    expect(recorded.outcomes).toEqual([]);
    expect(recorded.streams).toEqual([{ status: 200, headers: [["location", "/big"]] }]);
  });

  it("A27 a single large end, and a pipe, past the cap arrive whole", async () => {
    const { port, recorded } = await start(
      (request, response) => {
        if (request.url === "/end") response.end(Buffer.alloc(200_000, "y"));
        else Readable.from(Array.from({ length: 100 }, () => Buffer.alloc(10_000, "z"))).pipe(response);
      },
      { bodyBytesMax: 65_536 },
    );
    expect((await ask(port, { path: "/end" })).body.length).toBe(200_000);
    expect((await ask(port, { path: "/pipe" })).body.length).toBe(1_000_000);
    expect(recorded.streams).toHaveLength(2);
  });

  it("A27 the writer is held back while the head is being recorded and by a slow reader after it", async () => {
    const returned: boolean[] = [];
    const callbacks: number[] = [];
    const { port } = await start(
      (_request, response) => {
        for (let index = 0; index < 20; index += 1) {
          returned.push(response.write(Buffer.alloc(100_000), () => callbacks.push(index)));
        }
        response.end();
      },
      { bodyBytesMax: 10 },
    );
    const reply = await ask(port);
    expect(reply.body.length).toBe(2_000_000);
    expect(returned.slice(1).every((each) => !each)).toBe(true);
    expect(callbacks).toEqual(Array.from({ length: 20 }, (_, index) => index));
  });

  it("A25 an event stream and a flush go live at the first byte", async () => {
    const { port, recorded } = await start((request, response) => {
      if (request.url === "/events") {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: one\n\n");
      } else {
        response.flushHeaders();
      }
      request.on("close", () => undefined);
      setTimeout(() => response.end("data: two\n\n"), 100);
    });
    for (const path of ["/events", "/flush"]) {
      const socket = await connect(port, post.replace("/ ", `${path} `));
      let seen = "";
      socket.on("data", (chunk: Buffer) => {
        seen += chunk.toString("latin1");
      });
      await until("the head", () => seen.includes("\r\n\r\n"));
      expect(seen).not.toContain("two");
      await until("the rest", () => seen.includes("two"));
      socket.destroy();
    }
    expect(recorded.streams.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("A27 a writer that was held back goes on when an outer layer takes everything at once", async () => {
    const { port } = await start(
      (_request, response) => {
        Readable.from(Array.from({ length: 10 }, () => Buffer.alloc(100_000))).pipe(response);
      },
      {
        bodyBytesMax: 10,
        outer(_request, response) {
          const end = response.end.bind(response);
          const taken: Buffer[] = [];
          (response as { write: unknown }).write = (chunk: Buffer) => taken.push(chunk) > 0;
          (response as { end: unknown }).end = () => end(Buffer.concat(taken));
        },
      },
    );
    expect((await ask(port)).body.length).toBe(1_000_000);
  });

  it("A25 a client that leaves while the head is being recorded is told to the writer", async () => {
    const letGo = Promise.withResolvers<Settled>();
    let closed = false;
    const { port, recorded } = await start(
      (_request, response) => {
        response.on("close", () => {
          closed = true;
        });
        response.flushHeaders();
      },
      { settled: () => letGo.promise },
    );
    const socket = await connect(port, post);
    await until("opening", () => recorded.streams.length === 1);
    socket.destroy();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(closed).toBe(false);
    letGo.resolve({ kind: "send", addHeaders: [] });
    await until("close", () => closed);
  });

  it("A25 a stream that lost its fence sends the replacement and swallows the rest", async () => {
    const response = { status: 409, headers: [], body: Buffer.from("lost") };
    let finished = false;
    const { port } = await start(
      (_request, outgoing) => {
        pipeline(Readable.from(Array.from({ length: 50 }, () => Buffer.alloc(10_000))), outgoing)
          .catch(() => undefined)
          .finally(() => {
            finished = true;
          });
      },
      { bodyBytesMax: 10, settled: () => ({ kind: "replace", response }) },
    );
    const reply = await ask(port);
    expect([reply.status, reply.body.toString()]).toEqual([409, "lost"]);
    await until("the pipeline", () => finished);
  });

  it("A25 a client that leaves a live stream is told to the writer", async () => {
    let closed = false;
    const { port } = await start((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: one\n\n");
      response.on("close", () => {
        closed = true;
      });
    });
    const socket = await connect(port, post);
    await once(socket, "data");
    socket.destroy();
    await until("close", () => closed);
  });
});

describe("E-05 the client goes away", () => {
  async function dropped(
    handler: (response: ServerResponse, gone: () => Promise<void>) => void,
    options?: WireOptions,
  ): Promise<Wire> {
    let isGone = false;
    const entered = Promise.withResolvers<void>();
    const started = await start((request, response) => {
      request.socket.once("close", () => {
        isGone = true;
      });
      entered.resolve();
      handler(response, () => until("the connection to close", () => isGone));
    }, options);
    const socket = await connect(started.port, post);
    await entered.promise;
    socket.destroy();
    return started;
  }

  it("E-05 an answer written after the connection closed is captured, and finish and close follow", async () => {
    const events: string[] = [];
    const { recorded } = await dropped((response, gone) => {
      for (const event of ["finish", "close"]) response.on(event, () => events.push(event));
      void gone().then(() => {
        events.push(`destroyed ${String(response.destroyed)}`);
        response.writeHead(201).end("made");
      });
    });
    await until("the outcome", () => recorded.outcomes.length === 1 && events.includes("close"));
    expect(answered(wire as Wire)).toMatchObject({ status: 201, body: "made" });
    expect(events).toEqual(["destroyed false", "finish", "close"]);
  });

  it("E-05 a pipeline that began before the drop, and one that began after it, run to their end", async () => {
    let ended = 0;
    const { recorded } = await dropped((response, gone) => {
      const source = async function* (): AsyncGenerator<string> {
        yield "a";
        await gone();
        yield "b";
        yield "c";
      };
      void pipeline(Readable.from(source()), response).then(() => {
        ended += 1;
      });
    });
    await until("the outcome", () => recorded.outcomes.length === 1 && ended === 1);
    expect(answered(wire as Wire).body).toBe("abc");
    await wire?.close();
    const { recorded: later } = await dropped((response, gone) => {
      void gone()
        .then(() => pipeline(Readable.from(["d", "e"]), response))
        .then(() => {
          ended += 1;
        });
    });
    await until("the outcome", () => later.outcomes.length === 1 && ended === 2);
    expect(answered(wire as Wire).body).toBe("de");
  });

  it("E-05 a file is read to its end although its sender watches the socket", async () => {
    const folder = await mkdtemp(join(tmpdir(), "ichido-wire-"));
    const path = join(folder, "file.txt");
    await writeFile(path, "f".repeat(300_000));
    for (const when of ["before", "after"]) {
      const { recorded } = await dropped((response, gone) => {
        onFinished(response, () => undefined);
        const begin = (): void => send(response.req, path).pipe(response);
        if (when === "before") begin();
        else void gone().then(begin);
      });
      await until("the outcome", () => recorded.outcomes.length === 1);
      expect(answered(wire as Wire).body.length).toBe(300_000);
      await wire?.close();
    }
    wire = undefined;
    await rm(folder, { recursive: true });
  });

  it("E-05 a half-written answer that goes quiet is interrupted, one that goes on is not", async () => {
    const quiet = await dropped((response) => void response.write("half"), { quietMs: 50 });
    await until("the outcome", () => quiet.recorded.outcomes.length === 1);
    expect(quiet.recorded.outcomes).toEqual([{ kind: "interrupted" }]);
    await wire?.close();
    const slow = await dropped(
      (response, gone) => {
        response.write("0");
        void gone().then(async () => {
          for (let index = 1; index < 8; index += 1) {
            await new Promise((resolve) => setTimeout(resolve, 40));
            response.write(String(index));
          }
          response.end();
        });
      },
      { quietMs: 200 },
    );
    await until("the outcome", () => slow.recorded.outcomes.length === 1);
    expect(answered(wire as Wire).body).toBe("01234567");
  });

  it("E-05 a handler that wrote nothing yet is never interrupted", async () => {
    const { recorded } = await dropped(
      (response, gone) => void gone().then(() => setTimeout(() => response.end("late"), 200)),
      { quietMs: 20 },
    );
    await until("the outcome", () => recorded.outcomes.length === 1);
    expect(answered(wire as Wire).body).toBe("late");
  });

  it("E-05 pipelined answers are captured although their connection died before their turn", async () => {
    const isGone = Promise.withResolvers<void>();
    let entered = 0;
    const { port, recorded } = await start((request, response) => {
      entered += 1;
      request.socket.once("close", () => isGone.resolve());
      void isGone.promise.then(() => setTimeout(() => response.end(String(request.url)), 30));
    });
    const socket = await connect(port, post + post.replace("/ ", "/second "));
    await until("both", () => entered === 2);
    socket.destroy();
    await until("the outcomes", () => recorded.outcomes.length === 2);
    expect([answered(wire as Wire, 0).body, answered(wire as Wire, 1).body].toSorted()).toEqual(["/", "/second"]);
  });
});

describe("A16 handlers that break off", () => {
  it("A16 destroying the response settles as thrown and cuts the connection", async () => {
    const { port, recorded } = await start((_request, response) => {
      response.write("half");
      response.destroy(new Error("broken"));
    });
    await expect(ask(port)).rejects.toThrow(/socket hang up|ECONNRESET/);
    expect(recorded.outcomes).toMatchObject([{ kind: "threw", error: { message: "broken" } }]);
  });

  it("A16 a pipeline whose source fails settles as thrown", async () => {
    const { port, recorded } = await start((_request, response) => {
      const source = async function* (): AsyncGenerator<string> {
        yield "half";
        await Promise.resolve();
        throw new Error("source broke");
      };
      pipeline(Readable.from(source()), response).catch(() => undefined);
    });
    await expect(ask(port)).rejects.toThrow(/socket hang up|ECONNRESET/);
    expect(recorded.outcomes).toMatchObject([{ kind: "threw", error: { message: "source broke" } }]);
  });

  it("A16 destroying the connection after the answer was given lets the answer leave first", async () => {
    const { port, recorded } = await start((request, response) => {
      response.writeHead(201).end("made");
      request.socket.destroy();
    });
    const socket = await connect(port, post);
    let seen = "";
    socket.on("data", (chunk: Buffer) => {
      seen += chunk.toString("latin1");
    });
    await once(socket, "end");
    expect(seen).toMatch(/^HTTP\/1\.1 201 Created\r\n[^]*\r\n\r\nmade$/);
    expect(recorded.outcomes).toHaveLength(1);
  });

  it("A16 a connection whose client left ends although the answer is still being recorded", async () => {
    let closed = false;
    const { port, recorded } = await start(
      (request, response) => {
        request.socket.once("close", () => {
          closed = true;
        });
        response.end("made");
      },
      { settled: () => new Promise(() => undefined) },
    );
    const socket = await connect(port, post);
    await until("settling", () => recorded.outcomes.length === 1);
    socket.end();
    await until("the connection to close", () => closed);
  });

  it("A16 an outer layer that fails on the answer does not take the process down", async () => {
    const { port, recorded } = await start((_request, response) => void response.end("made"), {
      outer(_request, response) {
        response.writeHead = () => {
          throw new Error("outer");
        };
      },
    });
    await expect(ask(port)).rejects.toThrow(/socket hang up|ECONNRESET/);
    expect(recorded.outcomes).toHaveLength(1);
  });
});

describe("a server that shuts down", () => {
  it("A37 keeps the connection of an answer that is being recorded", async () => {
    const letGo = Promise.withResolvers<Settled>();
    const server = Promise.withResolvers<{ close(): unknown }>();
    const { port, recorded } = await start(
      (request, response) => {
        server.resolve((request.socket as unknown as { server: { close(): unknown } }).server);
        response.end("made");
      },
      { settled: () => letGo.promise },
    );
    const reply = ask(port);
    await until("settling", () => recorded.outcomes.length === 1);
    (await server.promise).close();
    setTimeout(() => letGo.resolve({ kind: "send", addHeaders: [] }), 50);
    expect((await reply).body.toString()).toBe("made");
    wire = undefined;
  });
});

describe("answers that the layer itself sends", () => {
  async function sent(answer: NeutralResponse, outer?: (response: ServerResponse) => void): Promise<Reply> {
    const server = createServer((_request, response) => {
      outer?.(response);
      sendAnswer(response, answer);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    try {
      return await ask((server.address() as AddressInfo).port);
    } finally {
      server.close();
    }
  }
  const body = Buffer.from("body");

  it("R-04 have their own length and a fresh date, and replace what they name alone", async () => {
    const headers = [
      ["content-length", "99"],
      ["x-outer", "answer"],
      ["link", "</a>"],
      ["link", "</b>"],
    ] as const;
    const reply = await sent({ status: 201, headers, body }, (response) => {
      response.setHeader("X-Outer", "outer");
      response.setHeader("X-Kept", "outer");
    });
    expect([reply.status, reply.body.toString(), reply.headers["content-length"]]).toEqual([201, "body", "4"]);
    expect([reply.headers["x-outer"], reply.headers["x-kept"], reply.headers.link]).toEqual([
      "answer",
      "outer",
      "</a>, </b>",
    ]);
    expect(reply.headers.date).toBeDefined();
  });

  it("R-05 without content have no length", async () => {
    const reply = await sent({ status: 204, headers: [], body });
    expect([reply.status, reply.body.length, reply.headers["content-length"]]).toEqual([204, 0, undefined]);
  });

  it.each([
    ["status 42", { status: 42, headers: [], body }],
    ["status 101", { status: 101, headers: [], body }],
    ["status NaN", { status: Number.NaN, headers: [], body }],
    ["a line break", { status: 200, headers: [["x-a", "b\r\nc"]] as const, body }],
    ["a bad name", { status: 200, headers: [["x a", "b"]] as const, body }],
  ])("A29 from a row with %s become a problem, not a crash", async (_what, answer) => {
    const reply = await sent(answer);
    expect([reply.status, reply.headers["content-type"]]).toEqual([500, "application/problem+json"]);
  });

  it("A02 are not sent where somebody has answered already", async () => {
    const reply = await sent(
      { status: 201, headers: [], body },
      (response) => void response.writeHead(503).end("busy"),
    );
    expect([reply.status, reply.body.toString()]).toEqual([503, "busy"]);
  });
});

it("A21 an injected request without a connection is captured and answered", async () => {
  const outcomes: HandlerOutcome[] = [];
  const execution: Execution = {
    context: {} as Execution["context"],
    bodyBytesMax: 100,
    onProvided: () => undefined,
    async settle(outcome) {
      outcomes.push(outcome);
      return { kind: "send", addHeaders: [] };
    },
    beginStream: async () => ({ kind: "send", addHeaders: [] }),
  };
  for (const [text, recorded] of [
    ["small", 1],
    ["x".repeat(1_000), 1],
  ] as const) {
    const listener: RequestListener = (request, response) => {
      captureResponse(request, response, execution, { quietMs: 1_000 });
      response.writeHead(201);
      response.write(text.slice(0, 3));
      response.end(text.slice(3));
    };
    const reply = await inject(listener, { method: "POST", url: "/" });
    expect([reply.statusCode, reply.payload]).toEqual([201, text]);
    expect(outcomes).toHaveLength(recorded);
  }
});

describe("a handler that throws in the middle of its answer", () => {
  it("A21 node: its caller is cut off at once, and the key is left to onUnknown", async () => {
    const ichido = createIchido({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "rerun" });
    const thrown: unknown[] = [];
    const listener = idempotent(ichido, { operation: "half" }, async (_request, response) => {
      response.write("half");
      throw new Error("in the middle");
    });
    const server = createServer((request, response) => {
      listener(request, response).catch((error: unknown) => thrown.push(error));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    for (let tries = 1; tries <= 2; tries += 1) {
      const headers = { "idempotency-key": '"half-an-answer-1"' };
      await expect(fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers })).rejects.toThrow("fetch failed");
      // The second one ran: nobody had to wait for a lease or for executionMs.
      await until("it ran again", () => thrown.length === tries);
    }
    await until("nothing runs", async () => (await ichido.health()).running === 0);
    server.close();
    await ichido.close();
  });
});
