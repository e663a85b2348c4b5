import { pino } from "pino";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createIchido, type IchidoEvent } from "../../index.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import { levelOf } from "../engine/log-levels.ts";

type Line = Readonly<Record<string, unknown>>;

/** As a program has it, but for where the lines go. */
function pinoLines() {
  const lines: Line[] = [];
  const logger = pino({ level: "debug" }, { write: (line: string) => void lines.push(JSON.parse(line) as Line) });
  return { lines, logger };
}

const levels = { 20: "debug", 30: "info", 40: "warn", 50: "error" } as const;
const levelNamed = ({ level }: Line): string => levels[level as keyof typeof levels];
const engineOptions = { scope: () => ({ principal: "somebody" }), onUnknown: "rerun" } as const;
const job = { operation: "job", scope: { principal: "p" }, key: "0f9619ff-8b86-4d01-b42d-00cf4fc964ff" };

afterEach(() => vi.restoreAllMocks());

describe("a logger", () => {
  it("gets one object for each attempt, in the words of the events, without the key", async () => {
    const { lines, logger } = pinoLines();
    const ichido = createIchido({ store: memoryStore(), ...engineOptions, logger });
    await ichido.run(job, () => "secret value");
    await ichido.run(job, () => "secret value");
    const requests = lines.filter(({ event }) => event === "request");
    const common = { part: "engine", operation: "job", observed: false, durationMs: expect.any(Number) };
    expect(requests).toEqual([
      expect.objectContaining({ ...common, outcome: "executed", attempt: 1, msg: "engine: request" }),
      expect.objectContaining({ ...common, outcome: "replayed", keyHash: requests[0]?.["keyHash"] }),
    ]);
    expect(requests.map(levelNamed)).toEqual(["info", "info"]);
    expect(JSON.stringify(lines)).not.toMatch(/0f9619ff|secret|somebody/);
    await ichido.close();
  });

  it("gets the warnings, which then are no warnings of the process", async () => {
    const warned = vi.spyOn(process, "emitWarning").mockReturnValue();
    const { lines, logger } = pinoLines();
    const store = Object.assign(memoryStore(), { claim: () => Promise.reject(new Error(`no ${job.key}`)) });
    const ichido = createIchido({ store, ...engineOptions, retentionMs: 60_000, logger });
    await expect(ichido.run(job, () => 1)).rejects.toThrow("nothing was run");
    const warnings = lines.filter(({ event }) => event === "warning");
    expect(warnings.map(({ code }) => code)).toEqual(["short-retention", "store-failed"]);
    expect(warnings.map(levelNamed)).toEqual(["warn", "warn"]);
    expect(lines.find(({ outcome }) => outcome === "store_error")).toMatchObject({ level: 50 });
    expect(lines.find(({ verb }) => verb === "claim")).toMatchObject({ event: "store-call", errorType: "Error" });
    expect(JSON.stringify(lines), "an error's text").not.toContain("0f9619ff");
    expect(warned.mock.calls.filter(([, options]) => JSON.stringify(options).includes("Ichido"))).toEqual([]);
    await ichido.close();
  });

  it("is refused where it is none", () => {
    const logger = { info: () => undefined } as never;
    expect(() => createIchido({ store: memoryStore(), ...engineOptions, logger })).toThrow(/option logger.*pino/);
  });

  it.each<[IchidoEvent, string]>([
    [{ type: "takeover", operation: "a", keyHash: "h", attempt: 2 }, "warn"],
    [{ type: "not-stored", operation: "a", keyHash: "h", error: new Error("x") }, "error"],
    [{ type: "reconciled", operation: "a", keyHash: "h", outcome: "held" }, "warn"],
    [{ type: "reconciled", operation: "a", keyHash: "h", outcome: "adopted" }, "info"],
    [{ type: "sweep", deleted: 1, guarded: false }, "debug"],
  ])("is told %j as loudly as it matters: %s", (event, level) => {
    expect(levelOf(event)).toBe(level);
  });
});
