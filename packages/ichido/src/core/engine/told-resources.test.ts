import { describe, expect, it } from "vitest";
import { limits } from "../contract/defaults.ts";
import { withTold } from "../record-machine/resources.ts";
import { createMeasurements } from "./measurements.ts";
import { levelOf } from "./log-levels.ts";
import { ToldResources } from "./told-resources.ts";

describe("what a handler tells of", () => {
  it("is each once, whatever number it has, and news until it is kept", () => {
    const told = new ToldResources();
    told.add("payment", 7);
    told.add("payment", 7n);
    told.add("order", "o_1");
    const news = {
      resources: [
        { kind: "payment", id: "7" },
        { kind: "order", id: "o_1" },
      ],
    };
    expect(told.news).toEqual(news);
    told.kept(told.news);
    expect(told.news).toEqual({});
    told.kept({});
    expect(told.all).toEqual(news.resources);
  });

  it.each([
    ["", "x"],
    ["k".repeat(limits.resourceKindLengthMax + 1), "x"],
    ["payment", ""],
    ["payment", "a\0"],
    ["payment", "\ud800"],
    ["payment", 1.5],
  ])("is refused as %j, %j", (kind, id) => {
    expect(() => new ToldResources().add(kind, id)).toThrow(/ctx\.resource/);
  });

  it("is bounded", () => {
    const told = new ToldResources();
    for (let at = 0; at < limits.resourcesMax; at += 1) told.add("item", at);
    told.add("item", 0);
    expect(() => told.add("item", "one more")).toThrow(String(limits.resourcesMax));
  });

  it("is added to a record that does not know it", () => {
    const known = [{ kind: "a", id: "1" }];
    expect(withTold(known, undefined)).toBe(known);
    expect(withTold(known, known)).toBe(known);
    expect(
      withTold(known, [
        { kind: "a", id: "2" },
        { kind: "a", id: "2" },
        { kind: "b", id: "1" },
      ]),
    ).toHaveLength(3);
  });
});

describe("measurements", () => {
  it("have room for so many names", () => {
    const measurements = createMeasurements();
    for (let at = 0; at < 5_000; at += 1) {
      measurements.stepped(`step ${at}`, 1, at % 2 === 0);
      measurements.named("labels", [`label ${at}`]);
    }
    expect(measurements.names("labels").length).toBeLessThan(5_000);
    expect(Object.keys(measurements.steps()).length).toBeLessThan(5_000);
  });
});

describe("the level of a log line", () => {
  const request = { type: "request", operation: "a", keyHash: "h", observed: false, durationMs: 1 } as const;
  it.each([
    [{ ...request, outcome: "outcome_unknown" }, "warn"],
    [{ ...request, outcome: "response_not_stored" }, "warn"],
    [{ ...request, outcome: "executed", status: 502 }, "warn"],
    [{ ...request, outcome: "executed", status: 201 }, "info"],
    [{ type: "drained", clean: true, tookMs: 1, handlers: 0, transactions: 0 }, "info"],
    [{ type: "drained", clean: false, tookMs: 1, handlers: 1, transactions: 0 }, "warn"],
    [{ type: "warning", code: "x", message: "y" }, "warn"],
  ] as const)("of %j is %s", (event, level) => {
    expect(levelOf(event as unknown as Parameters<typeof levelOf>[0])).toBe(level);
  });
});
