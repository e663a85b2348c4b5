import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createFaultProxy } from "ichido/testing";
import type { FaultProxy } from "ichido/testing";
import { eventually } from "../support/eventually.ts";

/** Answers every line `x` with `got x`, and remembers what it received. */
async function lineServer(): Promise<{ port: number; received: () => string; ends: string[]; close: () => void }> {
  let received = "";
  const ends: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", (error: NodeJS.ErrnoException) => ends.push(error.code ?? "error"));
    socket.on("end", () => ends.push("end"));
    let rest = "";
    socket.on("data", (bytes) => {
      received += String(bytes);
      const lines = (rest + String(bytes)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) socket.write(`got ${line}\n`);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  return { port: typeof address === "object" ? (address?.port ?? 0) : 0, received: () => received, ends, close };
}

interface TestClient {
  readonly socket: Socket;
  readonly ends: string[];
  received(): string;
}

async function client(port: number): Promise<TestClient> {
  const socket = connect({ port, host: "127.0.0.1" });
  let received = "";
  const ends: string[] = [];
  socket.on("data", (bytes) => (received += String(bytes)));
  socket.on("error", (error: NodeJS.ErrnoException) => ends.push(error.code ?? "error"));
  socket.on("end", () => ends.push("end"));
  await once(socket, "connect").catch(() => {});
  return { socket, ends, received: () => received };
}

let server: Awaited<ReturnType<typeof lineServer>>;
let proxy: FaultProxy;

beforeEach(async () => {
  server = await lineServer();
  proxy = await createFaultProxy({ target: { host: "127.0.0.1", port: server.port } });
});

afterEach(async () => {
  await proxy.close();
  server.close();
});

describe("fault proxy", () => {
  test("passes bytes both ways and counts them", async () => {
    const caller = await client(proxy.port);
    caller.socket.write("hello\n");
    await eventually(() => expect(caller.received()).toBe("got hello\n"));
    expect(proxy.connections[0]).toMatchObject({ id: 1, bytesToServer: 6, bytesToClient: 10 });
    expect(proxy.counts).toEqual({ accepted: 1, open: 1, hung: 0, reset: 0, cut: 0 });
    caller.socket.end();
    await eventually(() => expect(server.ends).toEqual(["end"]));
    await eventually(() => expect(proxy.counts.open).toBe(0));
  });

  test.each([
    ["late", { toClient: { delayMs: 50 } }],
    ["kept back", { toServer: { stall: true } }],
    ["lost", { toServer: { blackhole: true } }],
  ])("counts bytes that its faults disturbed: %s", async (_how, faults) => {
    const caller = await client(proxy.port);
    caller.socket.write("hello\n");
    await eventually(() => expect(caller.received()).toBe("got hello\n"));
    const [connection] = proxy.connections;
    proxy.faults(faults);
    expect(connection?.bytesDisturbed).toBe(0);
    caller.socket.write("again\n");
    await eventually(() => expect(connection?.bytesDisturbed).toBe("toClient" in faults ? 10 : 6));
    proxy.heal();
    expect(connection?.bytesDisturbed).toBe("toClient" in faults ? 10 : 6);
  });

  test("names the target's address through itself", async () => {
    const named = await createFaultProxy({ target: "postgres://user:secret@127.0.0.1/db?sslmode=disable" });
    expect(named.url).toBe(`postgres://user:secret@127.0.0.1:${named.port}/db?sslmode=disable`);
    await named.close();
    await expect(createFaultProxy({ target: "gopher://127.0.0.1/x" })).rejects.toThrow(/names no port/);
  });

  test("passes large answers whole, in order, through a delay", async () => {
    const caller = await client(proxy.port);
    proxy.faults({ toServer: { delayMs: 5 }, toClient: { delayMs: 5 } });
    const lines = Array.from({ length: 20_000 }, (_, index) => `line ${index} ${"x".repeat(40)}`);
    for (const line of lines) caller.socket.write(`${line}\n`);
    await eventually(
      () => expect(caller.received().length).toBe(lines.join("\n").length + 1 + lines.length * 4),
      10_000,
    );
    expect(server.received()).toBe(`${lines.join("\n")}\n`);
  });

  test("delays one direction by the given time", async () => {
    const caller = await client(proxy.port);
    proxy.faults({ toClient: { delayMs: 150 } });
    const startedMs = performance.now();
    caller.socket.write("hello\n");
    await eventually(() => expect(server.received()).toBe("hello\n"));
    expect(caller.received()).toBe("");
    await eventually(() => expect(caller.received()).toBe("got hello\n"));
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(145);
  });

  test("limits the rate", async () => {
    const caller = await client(proxy.port);
    proxy.faults({ toServer: { bytesPerSecond: 1_000 } });
    const startedMs = performance.now();
    caller.socket.write(`${"x".repeat(299)}\n`);
    await eventually(() => expect(server.received()).toHaveLength(300));
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(250);
  });

  test("a stall holds bytes until it is healed, and none is lost", async () => {
    const caller = await client(proxy.port);
    proxy.faults({ toServer: { stall: true } });
    caller.socket.write("hello\n");
    await sleep(60);
    expect(server.received()).toBe("");
    proxy.heal();
    await eventually(() => expect(caller.received()).toBe("got hello\n"));
  });

  test("a blackhole loses bytes, keeps the connection open, and ends it when healed", async () => {
    const caller = await client(proxy.port);
    proxy.faults({ toClient: { blackhole: true } });
    caller.socket.write("hello\n");
    await eventually(() => expect(server.received()).toBe("hello\n"));
    await sleep(40);
    expect(caller.received()).toBe("");
    expect(caller.ends).toEqual([]);
    proxy.heal();
    await eventually(() => expect(caller.ends).toEqual(["ECONNRESET"]));
    const again = await client(proxy.port);
    again.socket.write("again\n");
    await eventually(() => expect(again.received()).toBe("got again\n"));
  });

  test("faults of one connection leave the others alone", async () => {
    const first = await client(proxy.port);
    const second = await client(proxy.port);
    await eventually(() => expect(proxy.connections).toHaveLength(2));
    proxy.connections[0]?.faults({ toServer: { stall: true } });
    first.socket.write("first\n");
    second.socket.write("second\n");
    await eventually(() => expect(second.received()).toBe("got second\n"));
    expect(server.received()).toBe("second\n");
    proxy.connections[1]?.reset();
    await eventually(() => expect(second.ends).toEqual(["ECONNRESET"]));
    expect(first.ends).toEqual([]);
  });

  test("resets both sides", async () => {
    const caller = await client(proxy.port);
    caller.socket.write("hello\n");
    await eventually(() => expect(caller.received()).toBe("got hello\n"));
    proxy.reset();
    await eventually(() => expect(caller.ends).toEqual(["ECONNRESET"]));
    await eventually(() => expect(server.ends).toEqual(["ECONNRESET"]));
    expect(proxy.counts).toMatchObject({ open: 0, reset: 1 });
  });

  test("accepts and hangs, or resets new connections, until healed", async () => {
    proxy.admit("hang");
    const hanging = await client(proxy.port);
    hanging.socket.write("hello\n");
    proxy.admit("reset");
    const refused = await client(proxy.port);
    await eventually(() => expect(refused.ends).toEqual(["ECONNRESET"]));
    expect(hanging.received()).toBe("");
    expect(server.received()).toBe("");
    expect(proxy.counts).toMatchObject({ accepted: 2, hung: 1, reset: 1, open: 1 });
    proxy.heal();
    await eventually(() => expect(hanging.ends).toEqual(["ECONNRESET"]));
    const passed = await client(proxy.port);
    passed.socket.write("hello\n");
    await eventually(() => expect(passed.received()).toBe("got hello\n"));
  });

  test("cut before, to the server: the pattern never arrives", async () => {
    const caller = await client(proxy.port);
    const cut = proxy.cut({ direction: "to-server", pattern: "COMMIT", place: "before" });
    caller.socket.write("BEGIN\nCOM");
    await eventually(() => expect(caller.received()).toBe("got BEGIN\n"));
    caller.socket.write("MIT\n");
    await cut.fired;
    await eventually(() => expect(caller.ends).toEqual(["ECONNRESET"]));
    expect(server.received()).not.toContain("COMMIT");
    expect(proxy.counts.cut).toBe(1);
  });

  test("cut after, to the server: the pattern is worked on, its answer is lost", async () => {
    const caller = await client(proxy.port);
    const cut = proxy.cut({ direction: "to-server", pattern: "COMMIT", place: "after" });
    caller.socket.write("COMMIT\n");
    await cut.fired;
    await eventually(() => expect(caller.ends).toEqual(["ECONNRESET"]));
    expect(server.received()).toBe("COMMIT\n");
    expect(caller.received()).toBe("");
  });

  test("cut before, to the client: the answer is lost, what came before it is not", async () => {
    const caller = await client(proxy.port);
    const cut = proxy.cut({ direction: "to-client", pattern: "got COMMIT", place: "before", how: "end" });
    caller.socket.write("BEGIN\nCOMMIT\n");
    await cut.fired;
    await eventually(() => expect(caller.ends).toEqual(["end"]));
    expect(server.received()).toContain("COMMIT");
    expect(caller.received()).toBe("got BEGIN\n");
  });

  test("cut after, to the client: the answer arrives, then the connection ends", async () => {
    const caller = await client(proxy.port);
    const cut = proxy.cut({ direction: "to-client", pattern: "got COMMIT\n", place: "after", how: "end" });
    caller.socket.write("COMMIT\n");
    await cut.fired;
    await eventually(() => expect(caller.ends).toEqual(["end"]));
    expect(caller.received()).toBe("got COMMIT\n");
  });

  test("cut by blackhole: nobody is told", async () => {
    const caller = await client(proxy.port);
    const cut = proxy.cut({ direction: "to-client", pattern: "COMMIT", place: "before", how: "blackhole" });
    caller.socket.write("COMMIT\n");
    await cut.fired;
    await sleep(40);
    expect(caller.received()).toBe("got ");
    expect(caller.ends).toEqual([]);
  });

  test("cuts at the given occurrence, as often as told, then no more", async () => {
    const cut = proxy.cut({ direction: "to-server", pattern: "COMMIT", place: "before", occurrence: 2, times: 2 });
    const speak = async (): Promise<TestClient> => {
      const caller = await client(proxy.port);
      caller.socket.write("COMMIT\n");
      await eventually(() => expect(caller.received() === "got COMMIT\n" || caller.ends.length === 1).toBe(true));
      return caller;
    };
    const ends = [await speak(), await speak(), await speak(), await speak()].map((caller) => caller.ends[0] ?? "open");
    expect(ends).toEqual(["open", "ECONNRESET", "ECONNRESET", "open"]);
    expect(cut.count).toBe(2);
  });

  test("a disarmed cut does nothing", async () => {
    proxy.cut({ direction: "to-server", pattern: "COMMIT", place: "before" }).disarm();
    const caller = await client(proxy.port);
    caller.socket.write("COMMIT\n");
    await eventually(() => expect(caller.received()).toBe("got COMMIT\n"));
  });

  test("a server that is not there looks like one that went away", async () => {
    server.close();
    const caller = await client(proxy.port);
    await eventually(() => expect(caller.ends).toEqual(["ECONNRESET"]));
  });
});
