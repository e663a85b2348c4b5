import { describe, expect, it } from "vitest";
import { profiles } from "../contract/profiles.ts";
import { createMeasurements } from "./measurements.ts";
import { resolveRoute } from "./validate-options.ts";

const nothing = { count: 0, p50Ms: 0, p99Ms: 0, maxMs: 0 };

function routeOf(operation: string, options: object = {}): never {
  return resolveRoute({ onUnknown: "rerun" }, { operation, ...options } as never) as never;
}

describe("measurements", () => {
  it("tell a route by its options as it was mounted last, and how long its handlers took", () => {
    const measurements = createMeasurements();
    measurements.routed(routeOf("pay"));
    measurements.handled(routeOf("pay"), 10);
    const verify = (): never => undefined as never;
    measurements.routed(
      routeOf("pay", {
        leaseMs: 1_000,
        retentionMs: 2_000,
        bodyBytesMax: 3_000,
        mode: "transaction",
        enforce: false,
        onUnknown: { verify },
        profile: profiles.stripe,
        fingerprint: { fields: ["amount", "currency"] },
        methods: ["POST", "PUT", "DELETE"],
      }),
    );
    measurements.handled(routeOf("pay"), 20);
    expect(measurements.operations()).toEqual({
      pay: {
        options: {
          leaseMs: 1_000,
          retentionMs: 2_000,
          bodyBytesMax: 3_000,
          mode: "transaction",
          enforce: false,
          onUnknown: "verify",
          profile: "stripe",
          fields: "amount, currency",
          compare: "semantic",
          optionalFor: "PUT, DELETE",
        },
        handled: { count: 2, p50Ms: 10, p99Ms: 20, maxMs: 20 },
        setsCookies: false,
      },
    });
  });

  it("tell a route that has its defaults, also where only its handler was seen", () => {
    const measurements = createMeasurements();
    measurements.handled(routeOf("pay"), 7);
    const { options, handled } = measurements.operations()["pay"] ?? {};
    expect(options).toMatchObject({ onUnknown: "rerun", fields: "", compare: "semantic", optionalFor: "" });
    expect(handled).toMatchObject({ count: 1, maxMs: 7 });
  });

  it("remember that a route sets cookies, whatever it answers afterwards", () => {
    const measurements = createMeasurements();
    const setsCookies = (): unknown => measurements.operations()["pay"]?.setsCookies;
    measurements.answered(routeOf("pay"), [["location", "/"]]);
    expect(setsCookies()).toBe(false);
    measurements.answered(routeOf("pay"), [
      ["location", "/"],
      ["set-cookie", "a=b"],
    ]);
    expect(setsCookies()).toBe(true);
    measurements.answered(routeOf("pay"), []);
    expect(setsCookies()).toBe(true);
  });

  it("tell calls that were answered from those that were not", () => {
    const measurements = createMeasurements();
    measurements.stepped("bank", 5, true);
    measurements.stepped("bank", 9, false);
    measurements.stepped("bank", 9, false);
    measurements.stepped("mail", 1, true);
    expect(measurements.steps()).toEqual({
      bank: {
        answered: { count: 1, p50Ms: 5, p99Ms: 5, maxMs: 5 },
        unanswered: { count: 2, p50Ms: 9, p99Ms: 9, maxMs: 9 },
      },
      mail: { answered: { count: 1, p50Ms: 1, p99Ms: 1, maxMs: 1 }, unanswered: nothing },
    });
  });

  it("have room for a hundred operations, a hundred steps and sixteen names, and go on with those", () => {
    const measurements = createMeasurements();
    for (let at = 0; at < 200; at += 1) {
      measurements.routed(routeOf(`operation ${at}`));
      measurements.stepped(`step ${at}`, 1, at % 2 === 0);
      measurements.named("labels", [`label ${at}`]);
      measurements.named("resources", [`kind ${at}`]);
    }
    measurements.handled(routeOf("operation 99"), 5);
    measurements.handled(routeOf("operation 100"), 5);
    measurements.answered(routeOf("operation 100"), [["set-cookie", "a=b"]]);
    measurements.stepped("step 99", 1, true);
    const operations = Object.keys(measurements.operations());
    expect([operations.length, operations.at(-1)]).toEqual([100, "operation 99"]);
    expect(measurements.operations()["operation 99"]?.handled.count).toBe(1);
    const steps = Object.keys(measurements.steps());
    expect([steps.length, steps.at(-1)]).toEqual([100, "step 99"]);
    expect(measurements.steps()["step 99"]?.answered.count).toBe(1);
    for (const [what, last] of [
      ["labels", "label 15"],
      ["resources", "kind 15"],
    ] as const) {
      const names = measurements.names(what);
      expect([names.length, names.at(-1)]).toEqual([16, last]);
    }
  });

  it("name labels and resources each once", () => {
    const measurements = createMeasurements();
    expect([measurements.names("labels"), measurements.names("resources")]).toEqual([[], []]);
    measurements.named("labels", ["customer", "order"]);
    measurements.named("labels", ["customer"]);
    expect([measurements.names("labels"), measurements.names("resources")]).toEqual([["customer", "order"], []]);
  });
});
