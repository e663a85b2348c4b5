import { afterEach, describe, expect, it, vi } from "vitest";
import { answer, bed, executionOf, problemIn } from "../../../../../test/support/engine-bed.ts";
import type { Environment } from "../contract/environment.ts";
import { createIchido } from "./create-ichido.ts";
import { IchidoError } from "../contract/errors.ts";
import { memoryStore } from "../../stores/memory/index.ts";

const untouchable: Environment = {
  monotonicMs: () => 0,
  wallMs: () => 0,
  randomBytes: () => {
    throw new Error("randomness was drawn");
  },
  after: () => {
    throw new Error("a timer was set");
  },
};

const missing = new IchidoError("schema-missing", "the tables are missing; call store.migrate()");
const request = { operation: "a", scope: { principal: "p" }, key: "k" };

function warningsIn(events: readonly { readonly type: string }[]): string[] {
  return events.flatMap((event) => (event.type === "warning" ? [(event as unknown as { code: string }).code] : []));
}

describe("an engine before its first use", () => {
  it("draws nothing, sets no timer, asks the store nothing and says nothing, also with routes", () => {
    const { store } = bed();
    const said = vi.spyOn(process, "emitWarning");
    const ichido = createIchido({
      store,
      scope: () => ({ principal: "p" }),
      onUnknown: "rerun",
      environment: untouchable,
      retentionMs: 1_000,
      replayCache: {},
    });
    ichido.route({ operation: "payment.create", retentionMs: 500 });
    expect(store.calls).toEqual([]);
    expect(said).not.toHaveBeenCalled();
    said.mockRestore();
  });

  it("the first request ticks, arms the sweeper, and says what is to be said about options", async () => {
    const { serve, store, events, clock } = bed({ retentionMs: 3_600_000, sweepMs: 10_000 });
    expect(warningsIn(events)).toEqual([]);
    await serve();
    expect(store.calls).toContain("tick");
    expect(warningsIn(events)).toEqual(["short-retention"]);
    await clock.advance(25_000);
    expect(store.calls).toContain("sweep");
  });
});

describe("a memory store", () => {
  it("looks whether its process is alone at its first claim, not when it is made", async () => {
    const said = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    vi.stubEnv("pm_id", "1");
    const ichido = createIchido({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "rerun" });
    expect(said).not.toHaveBeenCalled();
    await ichido.run(request, () => 1);
    expect(said).toHaveBeenCalledWith(expect.stringContaining("PM2"), expect.anything());
    said.mockRestore();
    vi.unstubAllEnvs();
    await ichido.close();
  });
});

describe("start()", () => {
  it("pings, ticks and arms the sweeper", async () => {
    const { ichido, store, clock } = bed({ sweepMs: 10_000 });
    await ichido.start();
    expect(store.calls).toEqual(["ping", "tick"]);
    await clock.advance(25_000);
    expect(store.calls).toContain("sweep");
  });

  it("rejects with the code, the reason and the remedy, and may be called again", async () => {
    const { store } = bed();
    let broken = true;
    const { ichido, events } = bed({}, () => ({
      ...store,
      name: "sample",
      ping: () => (broken ? Promise.reject(missing) : Promise.resolve()),
    }));
    await expect(ichido.start()).rejects.toMatchObject({
      code: "schema-missing",
      message: "the sample store failed at ping: the tables are missing; call store.migrate()",
    });
    // Whoever asked is told; nobody else.
    expect(warningsIn(events)).toEqual([]);
    broken = false;
    await ichido.start();
  });

  it("rejects where the store does not take a tick", async () => {
    const { ichido, store } = bed();
    store.break("tick", "fail", 1);
    await expect(ichido.start()).rejects.toMatchObject({ code: "store-unavailable" });
    await ichido.start();
    await ichido.close();
    await expect(ichido.start()).rejects.toMatchObject({ code: "engine-closed" });
  });
});

describe("without start()", () => {
  it("why the store fails is said once for a verb and a reason, and in health()", async () => {
    const { store } = bed();
    const failing = (): Promise<never> => Promise.reject(missing);
    const broken = { ...store, name: "sample", claim: failing, tick: failing, ping: failing };
    const { ask, ichido, events, clock } = bed({}, () => broken);
    for (const key of ["a", "b", "c"]) expect(problemIn(await ask({ key }))).toMatchObject({ code: "schema-missing" });
    await clock.advance(300_000);
    const told = events.filter((event) => event.type === "warning");
    expect(told.map(({ code, message }) => `${code}: ${message}`).toSorted()).toEqual([
      "store-failed: the sample store failed at claim: the tables are missing; call store.migrate()",
      "store-failed: the sample store failed at tick: the tables are missing; call store.migrate()",
    ]);
    expect(await ichido.health()).toMatchObject({
      ok: false,
      store: {
        reachable: false,
        problem: { code: "schema-missing", message: expect.stringContaining("migrate") as string },
      },
    });
  });

  it("is said again when it comes back after the store had worked", async () => {
    const { serve, ask, store, events, clock } = bed();
    const told = (): number => warningsIn(events).length;
    store.break("claim", "fail");
    await ask({ key: "a" });
    await ask({ key: "b" });
    expect(told()).toBe(1);
    await clock.advance(61_000);
    store.mend();
    await serve();
    store.break("claim", "fail");
    await ask({ key: "c" });
    expect(told()).toBe(2);
  });

  it("goes to standard error where nobody listens for events", async () => {
    const said = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    const store = { ...memoryStore(), claim: () => Promise.reject(missing) };
    const ichido = createIchido({ store, scope: () => ({ principal: "p" }), onUnknown: "rerun" });
    await expect(ichido.run(request, () => 1)).rejects.toMatchObject({ code: "schema-missing" });
    expect(said).toHaveBeenCalledWith(
      expect.stringContaining("migrate"),
      expect.objectContaining({ code: "store-failed" }),
    );
    said.mockRestore();
    await ichido.close();
  });
});

describe("the runtime", () => {
  const { versions } = process;
  const pretend = (changed: Readonly<Record<string, string>>): void => {
    Object.defineProperty(process, "versions", { value: { ...versions, ...changed }, configurable: true });
  };
  afterEach(() => pretend({}));

  it.each(["20.20.1", "22.17.9"])(
    "Node %s is refused at start and at first use, with the version needed",
    async (node) => {
      pretend({ node });
      const { ichido, ask, store, events } = bed();
      const refused = { code: "runtime-unsupported", message: `this is Node.js ${node}; ichido needs 22.18 or later` };
      await expect(ichido.start()).rejects.toMatchObject(refused);
      await expect(ichido.run(request, () => 1)).rejects.toMatchObject(refused);
      for (const key of ["a", "b"]) {
        expect(problemIn(await ask({ key }))).toMatchObject({ status: 500, code: "runtime-unsupported" });
      }
      expect(warningsIn(events)).toEqual(["runtime-unsupported"]);
      expect(store.calls).toEqual([]);
    },
  );

  it("Node from 22.18 on, and what is not Node, are taken", async () => {
    for (const changed of [{ node: "22.18.0" }, { node: "24.1.0" }, { node: "20.0.0", bun: "1.4.4" }]) {
      pretend(changed);
      await bed().ichido.start();
    }
  });
});

describe("a handler that never answers", () => {
  const silent = "handler-silent";

  it("is told of once for its operation, with the limit", async () => {
    const { ask, events, clock } = bed();
    executionOf(await ask({ key: "a" }));
    executionOf(await ask({ key: "b" }));
    await clock.advance(59_000);
    expect(warningsIn(events)).toEqual([]);
    await clock.advance(2_000);
    expect(events.filter((event) => event.type === "warning")).toEqual([
      expect.objectContaining({
        code: silent,
        // A lease holds no connection, of which transaction mode is warned.
        message: expect.stringMatching(/^payment\.create: .*60 s.*900 s \(executionMs\)\. Does .* answer\?$/) as string,
      }),
    ]);
  });

  it("is told of before a short executionMs ends it; one that answers in time is not", async () => {
    const { ask, events, clock } = bed({ executionMs: 10_000 });
    const first = executionOf(await ask({ key: "a", route: { operation: "quick" } }));
    await clock.advance(4_000);
    await answer(first);
    await clock.advance(4_000);
    expect(warningsIn(events)).toEqual([]);
    executionOf(await ask({ key: "b", route: { operation: "stuck" } }));
    await clock.advance(6_000);
    expect(warningsIn(events)).toEqual([silent]);
  });
});
