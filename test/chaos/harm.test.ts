/** A fault is counted where it did harm to a call under way, and nowhere else. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Backend } from "../../chaos/backends/backend.ts";
import type { Fault, Scene, Victim } from "../../chaos/faults/fault.ts";
import { lineFaultsOf } from "../../chaos/faults/line-faults.ts";
import { processFaults } from "../../chaos/faults/process-faults.ts";
import { storeFaultsOf } from "../../chaos/faults/store-faults.ts";
import { openSqlite } from "../../chaos/sides/sqlite.ts";
import type { Child } from "../../packages/ichido/src/testing/child.ts";
import { createFaultProxy } from "../../packages/ichido/src/testing/fault-proxy.ts";
import { createRandom } from "../../simulation/random.ts";

function named(faults: readonly Fault[], name: string): Fault {
  const fault = faults.find((each) => each.name === name);
  if (fault === undefined) throw new Error(`no fault is called ${name}`);
  return fault;
}

const victimOf = (parts: Partial<Victim>): Victim => ({
  proxy: undefined,
  child: undefined,
  underWay: 1,
  isVeteran: false,
  isStruck: false,
  isEnding: false,
  ...parts,
});

function sceneOf(victims: readonly Victim[], backend: Partial<Backend> = {}): Scene {
  const { fleet, random } = { fleet: { ready: victims, berths: victims }, random: createRandom(7) };
  return {
    fleet,
    random,
    backend: backend as Backend,
    banks: {} as Scene["banks"],
    orders: { paddingBytes: 0 },
    pace: 1,
  };
}

describe("I19 a fault of a line is counted where bytes met it", () => {
  const echo = createServer((socket) => void socket.on("error", () => {}).pipe(socket));
  const linesOpen = 12;
  beforeAll(async () => {
    echo.listen(0, "127.0.0.1");
    await once(echo, "listening");
  });
  afterAll(() => echo.close());

  /** Strikes a server that has so many calls under way, on lines that are in use or not. */
  async function strikes(name: string, lines: "none" | "idle" | "used", underWay = 1): Promise<boolean> {
    const { port } = echo.address() as AddressInfo;
    const proxy = await createFaultProxy({ target: { host: "127.0.0.1", port } });
    const sockets: Socket[] = [];
    while (lines !== "none" && sockets.length < linesOpen) {
      const socket = connect(proxy.port, "127.0.0.1").on("error", () => {});
      sockets.push(socket.resume());
      await once(socket, "connect");
    }
    const say = (): void => sockets.forEach((socket) => socket.write("x"));
    const saying = lines === "used" ? setInterval(say, 20) : undefined;
    try {
      return await named(lineFaultsOf({ key: "key" }), name).strike(sceneOf([victimOf({ proxy, underWay })]));
    } finally {
      clearInterval(saying);
      for (const socket of sockets) socket.destroy();
      await proxy.close();
    }
  }

  describe.each(["reply-late", "half-open", "partition"])("%s", { timeout: 20_000 }, (name) => {
    test("without a line it is not", async () => expect(await strikes(name, "none")).toBe(false));
    test("on lines that nobody uses it is not", async () => expect(await strikes(name, "idle")).toBe(false));
    test("without a call under way it is not", async () => expect(await strikes(name, "used", 0)).toBe(false));
    test("on lines in use it is", async () => expect(await strikes(name, "used")).toBe(true));
  });
});

describe("I19 a full store is counted where a write was refused", () => {
  test.each([
    ["none", 0, false],
    ["one", 1, true],
  ])("%s", { timeout: 10_000 }, async (_how, refusals, isHarmed) => {
    let refused = 3;
    const backend: Partial<Backend> = {
      full: async (on) => void (refused += on ? refusals : 0),
      refused: () => refused,
    };
    const scene = sceneOf([victimOf({})], backend);
    expect(await named(storeFaultsOf(backend as Backend), "store-full").strike(scene)).toBe(isHarmed);
  });

  test("on SQLite the process says so, once for each", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ichido-full-"));
    const said: unknown[] = [];
    const log = console.log;
    console.log = (line: unknown) => void said.push(line);
    try {
      const side = await openSqlite(join(folder, "chaos.db"));
      await side.prepare();
      side.order?.(["full", "1"]);
      const write = (): Promise<void> => side.notes.write("name", "text".repeat(40_000));
      await expect(write()).rejects.toThrow();
      expect(said).toEqual(["saw no-room"]);
      side.order?.(["full", "0"]);
      await write();
      expect(said).toHaveLength(1);
    } finally {
      console.log = log;
      rmSync(folder, { recursive: true });
    }
  });
});

test("I19 a clock of a process is counted where it steps", async () => {
  const told: string[] = [];
  const child = { write: (line: string) => void told.push(line) } as unknown as Child;
  const scene = sceneOf([victimOf({ child }), victimOf({ underWay: 0 })]);
  for (let times = 0; times < 60; times += 1) await named(processFaults, "clock-app").strike(scene);
  expect(told).toHaveLength(60);
  const stood = told.filter((line, place) => line === (told[place - 1] ?? "clock 0"));
  expect(stood).toEqual([]);
});
