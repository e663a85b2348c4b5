import { describe, expect, it } from "vitest";
import { memoryStore } from "../../stores/memory/index.ts";
import { systemEnvironment } from "../contract/environment.ts";
import { profiles } from "../contract/profiles.ts";
import { resolveEngine, resolveRoute } from "./validate-options.ts";

const store = memoryStore();
const sound = { store, scope: () => ({ tenant: "t" }), onUnknown: "rerun" } as const;
const hour = 3_600_000;
const mebibyte = 1_048_576;

type Read = (value: unknown) => unknown;

function engine(options: object): ReturnType<typeof resolveEngine> {
  return resolveEngine({ ...sound, ...options } as never);
}

function route(options: object): ReturnType<typeof resolveRoute> {
  return resolveRoute(sound, { operation: "op", ...options } as never);
}

function messageOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("was accepted");
}

describe("numbers among the options have bounds, which are taken, and nothing beyond them is", () => {
  it.each<[string, number, number, Read]>([
    ["storeTimeoutMs", 10, 700_000, (value) => engine({ storeTimeoutMs: value }).storeTimeoutMs],
    ["executionMs", 100, 24 * hour, (value) => engine({ executionMs: value }).executionMs],
    ["transactionMs", 100, 1_000, (value) => engine({ transactionMs: value, executionMs: 1_000 }).transactionMs],
    ["verifyMs", 10, 600_000, (value) => engine({ verifyMs: value }).verifyMs],
    ["closeMs", 0, hour, (value) => engine({ closeMs: value }).closeMs],
    ["sweepMs", 50, 7 * 24 * hour, (value) => engine({ sweepMs: value }).sweepMs],
    ["waitersMax", 0, 1_000_000, (value) => engine({ waitersMax: value }).waitersMax],
    [
      "replayCache.recordsMax",
      1,
      10_000_000,
      (value) => engine({ replayCache: { recordsMax: value } }).replayCache?.recordsMax,
    ],
    [
      "replayCache.bytesMax",
      1_024,
      2 ** 40,
      (value) => engine({ replayCache: { bytesMax: value } }).replayCache?.bytesMax,
    ],
    ["attemptLog.flushMs", 10, 60_000, (value) => engine({ attemptLog: { flushMs: value } }).attemptLog?.flushMs],
    ["attemptLog.queueMax", 1, 1_000_000, (value) => engine({ attemptLog: { queueMax: value } }).attemptLog?.queueMax],
    [
      "attemptLog.suspectWithinMs",
      0,
      24 * hour,
      (value) => engine({ attemptLog: { suspectWithinMs: value } }).attemptLog?.suspectWithinMs,
    ],
    ["leaseMs", 50, 60_000, (value) => route({ leaseMs: value }).leaseMs],
    ["retentionMs", 100, 365 * 24 * hour, (value) => route({ retentionMs: value }).retentionMs],
    ["bodyBytesMax", 0, 64 * mebibyte, (value) => route({ bodyBytesMax: value }).bodyBytesMax],
    [
      "inFlight.waitMs",
      1,
      300_000,
      (value) => (route({ inFlight: { waitMs: value } }).inFlight as { readonly waitMs: number }).waitMs,
    ],
  ])("%s from %i to %i", (name, min, max, read) => {
    expect(read(min)).toBe(min);
    expect(read(max)).toBe(max);
    for (const value of [min - 1, max + 1]) {
      expect(messageOf(() => read(value))).toBe(
        `option ${name}: expected an integer from ${min} to ${max}, got ${value}`,
      );
    }
  });

  it("texts have too: operation, release, processName and operationIdSecret", () => {
    expect(route({ operation: "o".repeat(200) }).operation).toHaveLength(200);
    const operation = 'option operation: expected a name of 1 to 200 characters such as "payment.create", got ';
    expect(messageOf(() => route({ operation: "o".repeat(201) }))).toContain(operation);
    expect(messageOf(() => route({ operation: 7 }))).toBe(`${operation}7`);
    expect(messageOf(() => route({ operation: "" }))).toBe(`${operation}""`);
    for (const name of ["release", "processName"] as const) {
      expect(engine({ [name]: "r".repeat(200), attemptLog: {} }).attemptLog?.[name]).toHaveLength(200);
      const expected = `option ${name}: expected a text of 1 to 200 characters, got `;
      for (const value of ["", 7]) {
        expect(messageOf(() => engine({ [name]: value }))).toBe(expected + JSON.stringify(value));
      }
      expect(messageOf(() => engine({ [name]: "r".repeat(201) }))).toContain(expected);
    }
    engine({ operationIdSecret: "s".repeat(32) });
    const secret =
      "option operationIdSecret: expected a secret of at least 32 characters, the same in every process, got ";
    expect(messageOf(() => engine({ operationIdSecret: "s".repeat(31) }))).toBe(`${secret}"31 characters"`);
    expect(messageOf(() => engine({ operationIdSecret: 7 }))).toBe(`${secret}7`);
  });
});

describe("what is not given", () => {
  it("is the default of the engine", () => {
    const resolved = resolveEngine(sound);
    expect(resolved).toMatchObject({
      store,
      scope: sound.scope,
      storeTimeoutMs: 5_000,
      executionMs: 900_000,
      transactionMs: 30_000,
      verifyMs: 10_000,
      closeMs: 10_000,
      sweepMs: hour,
      waitersMax: 1_000,
      environment: systemEnvironment,
      format: { problemBase: "urn:ichido:problem:" },
    });
    const absent = ["transactions", "replayCache", "onEvent", "tracing", "logger", "faults"] as const;
    for (const name of absent) expect(resolved[name], name).toBeUndefined();
    expect(engine({ attemptLog: false }).attemptLog).toBeUndefined();
    expect(engine({ replayCache: {} }).replayCache).toEqual({ recordsMax: 10_000, bytesMax: 64 * mebibyte });
    expect(engine({ sweepMs: "off" }).sweepMs).toBe("off");
    expect(engine({ executionMs: 500 }).transactionMs, "no longer than an execution").toBe(500);
    expect(engine({ attemptLog: {} }).attemptLog).toMatchObject({
      flushMs: 1_000,
      queueMax: 10_000,
      suspectWithinMs: 600_000,
    });
  });

  it("is the default of a route", () => {
    const resolved = route({});
    expect(resolved).toMatchObject({
      operation: "op",
      onUnknown: "rerun",
      profile: profiles.ietf,
      leaseMs: 30_000,
      retentionMs: 24 * hour,
      bodyBytesMax: mebibyte,
      inFlight: "conflict",
      keyPolicy: { personalData: "warn", lowEntropy: "allow" },
      fingerprint: { fields: undefined, compare: "semantic" },
      enforce: true,
      mode: "lease",
      dangerouslyRunWithoutStore: false,
    });
    for (const name of ["scope", "labels", "statusUrl"] as const) expect(resolved[name], name).toBeUndefined();
    const kept = [200, 404, 429, 500].map((status) => resolved.keep({ status, headers: [] }));
    expect(kept).toEqual([true, true, false, false]);
    expect(route({ keep: () => false }).keep({ status: 200, headers: [] })).toBe(false);
  });

  it("comes from the engine where that has it, and is the route's own where the route has it", () => {
    const labels = (): Record<string, string> => ({ a: "b" });
    const shared = {
      ...sound,
      labels,
      keyPolicy: { lowEntropy: "refuse" },
      fingerprint: { fields: ["amount"] },
    } as const;
    expect(resolveRoute(shared, { operation: "op" })).toMatchObject({
      labels,
      keyPolicy: { personalData: "warn", lowEntropy: "refuse" },
      fingerprint: { fields: ["amount"], compare: "semantic" },
    });
    const own = resolveRoute(shared, {
      operation: "op",
      onUnknown: "hold",
      keyPolicy: { personalData: "allow" },
      fingerprint: { compare: "bytes" },
      mode: "transaction",
      enforce: false,
      dangerouslyRunWithoutStore: true,
      required: true,
      methods: ["PUT", "DELETE"],
      scope: () => ({ principal: "p" }),
    });
    expect(own).toMatchObject({
      onUnknown: "hold",
      keyPolicy: { personalData: "allow", lowEntropy: "allow" },
      fingerprint: { fields: undefined, compare: "bytes" },
      mode: "transaction",
      enforce: false,
      dangerouslyRunWithoutStore: true,
    });
    expect([...own.requiredFor]).toEqual(["PUT", "DELETE"]);
    expect(own.scope?.({} as never)).toEqual({ principal: "p" });
  });
});
