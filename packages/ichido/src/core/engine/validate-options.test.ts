import { describe, expect, it } from "vitest";
import { memoryStore } from "../../stores/memory/index.ts";
import { createIchido } from "./create-ichido.ts";
import { profiles } from "../contract/profiles.ts";
import { resolveEngine } from "./validate-options.ts";

const sound = { store: memoryStore(), scope: () => ({ tenant: "t" }), onUnknown: "rerun", sweepMs: "off" } as const;

function refused(options: object, route?: object): Error & { code?: string } {
  try {
    const ichido = createIchido({ ...sound, ...options } as never);
    void ichido.close();
    if (route !== undefined) ichido.route({ operation: "op", ...route } as never);
  } catch (error) {
    return error as Error;
  }
  throw new Error("was accepted");
}

describe("options are checked once, naming option, expectation and value", () => {
  it.each([
    [{ store: undefined }, "option store: expected a store"],
    [{ store: {} }, "option store: expected a store"],
    [{ scope: undefined }, "option scope: expected a function"],
    [{ scope: "tenant" }, 'got "tenant"'],
    [{ dangerouslyShareKeys: true }, "option dangerouslyShareKeys"],
    [{ onUnknown: undefined }, "option onUnknown"],
    [{ onUnknown: "retry" }, 'got "retry"'],
    [{ onUnknown: { verify: 1 } }, "got an object"],
    [{ leaseMs: 60_001 }, "option leaseMs: expected an integer from 50 to 60000, got 60001"],
    [{ leaseMs: 49 }, "got 49"],
    [{ leaseMs: 1.5 }, "got 1.5"],
    [{ leaseMs: "30s" }, 'got "30s"'],
    [{ retentionMs: 0 }, "option retentionMs"],
    [{ bodyBytesMax: -1 }, "option bodyBytesMax"],
    [{ profile: "paypal" }, 'option profile: expected "ietf" or "stripe" or "adr-007" or "polling", got "paypal"'],
    [{ profile: { name: "own" } }, "option profile.header"],
    [{ inFlight: "wait" }, "option inFlight"],
    [{ inFlight: { waitMs: 0 } }, "option inFlight.waitMs"],
    [{ keyPolicy: { personalData: "forbid" } }, "option keyPolicy.personalData"],
    [{ keyPolicy: { lowEntropy: "forbid" } }, "option keyPolicy.lowEntropy"],
    [{ fingerprint: { fields: [] } }, "option fingerprint.fields"],
    [{ fingerprint: { compare: "loose" } }, "option fingerprint.compare"],
    [{ fingerprint: { compare: "bytes", fields: ["a"] } }, "option fingerprint.fields"],
    [{ replayCache: true }, "option replayCache"],
    [{ replayCache: { recordsMax: 0 } }, "option replayCache.recordsMax"],
    [{ replayCache: { bytesMax: 1 } }, "option replayCache.bytesMax"],
    [{ labels: {} }, "option labels: expected a function, got an object"],
    [{ keep: [200] }, "option keep: expected a function, got an array"],
    [{ statusUrl: "/x" }, "option statusUrl"],
    [{ operationIdSecret: "too short" }, 'characters, the same in every process, got "9 characters"'],
    [{ enforce: "no" }, "option enforce"],
    [{ formatProblem: 1 }, "option formatProblem"],
    [{ onEvent: 1 }, "option onEvent"],
    [{ faults: 1 }, "option faults"],
    [{ problemBase: "" }, "option problemBase"],
    [{ docsUrl: 1 }, "option docsUrl"],
    [{ storeTimeoutMs: 1 }, "option storeTimeoutMs"],
    [{ executionMs: 1 }, "option executionMs"],
    [{ verifyMs: 1 }, "option verifyMs"],
    [{ closeMs: -1 }, "option closeMs"],
    [{ sweepMs: 1 }, "option sweepMs"],
    [{ waitersMax: -1 }, "option waitersMax"],
    [{ transactions: {} }, "option transactions"],
    [
      { transactions: { dialect: "postgres", run: () => 1 } },
      "option transactions: expected a runner for the database that holds the keys",
    ],
  ])("refuses %o", (options, message) => {
    const error = refused(options);
    expect(error).toMatchObject({ name: "IchidoError", code: "option-invalid" });
    expect(error.message).toContain(message);
  });

  it("refuses a deadline that is not later than the store's own, and names both", () => {
    const store = { ...memoryStore(), name: "postgres", callTimeoutMs: 5_000 };
    for (const storeTimeoutMs of [200, 5_000]) {
      const { message } = refused({ store, storeTimeoutMs });
      expect(message).toContain("option storeTimeoutMs");
      expect(message).toContain("callTimeoutMs (5000)");
      expect(message).toContain(`got ${storeTimeoutMs}`);
    }
  });

  it("a console is at an address that browsers open", () => {
    const withConsole = (consoleUrl: string) => ({
      consoleUrl,
      operationIdSecret: "a secret of thirty-two characters",
    });
    for (const address of ["http://localhost:3000/console", "https://ops.example"])
      expect(() => resolveEngine({ ...sound, ...withConsole(address) })).not.toThrow();
    for (const address of ["shttp://ops.example", "file:///console", "ops.example"])
      expect(refused(withConsole(address)).message).toContain("option consoleUrl: expected an http or https address");
  });

  it("waits for a store longer than the store itself does", () => {
    const base = { scope: () => ({}), onUnknown: "rerun" } as const;
    const resolved = (callTimeoutMs: number, more = {}): number =>
      resolveEngine({ ...base, store: { ...memoryStore(), callTimeoutMs }, ...more }).storeTimeoutMs;
    expect(resolved(0)).toBe(5_000);
    expect(resolved(5_000)).toBe(6_000);
    expect(resolved(20_000)).toBe(21_000);
    expect(resolved(5_000, { storeTimeoutMs: 5_001 })).toBe(5_001);
    expect(resolved(0, { storeTimeoutMs: 10 })).toBe(10);
  });

  it.each([
    [{ operation: "" }, "option operation"],
    [{ operation: "x".repeat(201) }, "option operation"],
    [{ operation: undefined }, "option operation"],
    [{ methods: [] }, "option methods"],
    [{ methods: ["post"] }, "option methods"],
    [{ methods: ["GET"] }, "safe ones have no effect to protect"],
    [{ required: "yes" }, "option required"],
    [{ dangerouslyRunWithoutStore: 1 }, "option dangerouslyRunWithoutStore"],
    [{ leaseMs: 61_000 }, "option leaseMs"],
    [{ labels: 1 }, "option labels"],
    [{ mode: "saga" }, "option mode"],
    [{ mode: "transaction" }, "option mode"],
  ])("refuses the route %o", (route, message) => {
    expect(refused({}, route).message).toContain(message);
  });

  it("refuses no options at all", () => {
    expect(() => createIchido(undefined as never)).toThrow("option createIchido");
  });

  it("shortens long values and never prints what an object holds", () => {
    expect(refused({ profile: "x".repeat(500) }).message.length).toBeLessThan(200);
    expect(refused({ enforce: { secret: "hunter2" } }).message).not.toContain("hunter2");
  });

  it("takes a transaction runner for the store's own database", () => {
    const store = {
      ...memoryStore(),
      capabilities: { ...memoryStore().capabilities, transactions: "sqlite" },
    } as const;
    const ichido = createIchido({ ...sound, store, transactions: { dialect: "sqlite", run: (() => 1) as never } });
    void ichido.close();
  });
});

describe("routes take the engine's settings and override them one by one", () => {
  it("inherits, overrides and completes", () => {
    const ichido = createIchido({ ...sound, leaseMs: 1_000, inFlight: { waitMs: 5 } });
    void ichido.close();
    const plain = ichido.route({ operation: "a" });
    expect(plain).toMatchObject({ leaseMs: 1_000, inFlight: { waitMs: 5 }, retentionMs: 86_400_000, enforce: true });
    expect([...plain.methods]).toEqual(["POST", "PATCH"]);
    expect([...plain.requiredFor]).toEqual(["POST", "PATCH"]);
    const put = ichido.route({ operation: "b", methods: ["PUT", "POST"], leaseMs: 2_000 });
    expect([...put.requiredFor]).toEqual(["POST"]);
    expect(put.leaseMs).toBe(2_000);
    expect([...ichido.route({ operation: "c", required: false }).requiredFor]).toEqual([]);
  });

  it("takes in-flight behaviour from the profile unless told otherwise", () => {
    const ichido = createIchido(sound);
    void ichido.close();
    const statusUrl = (id: string): string => `/operations/${id}`;
    expect(ichido.route({ operation: "a", profile: "polling", statusUrl }).inFlight).toBe("accepted");
    expect(ichido.route({ operation: "a", profile: "polling", inFlight: "conflict" }).inFlight).toBe("conflict");
    const own = ichido.route({ operation: "a", profile: { ...profiles.ietf, header: "X-Request-Key" } });
    expect(own.profile.header).toBe("x-request-key");
  });
});
