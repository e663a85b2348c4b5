/**
 * What protection costs does not creep up. No test of time: bytes allocated per request hardly vary, and CPU per request
 * is held against the bare framework of the same run, best of several rounds. Each may grow by less than half over what
 * `cost-bounds.json` says; `UPDATE_GOLDEN=1 npm test -- test/conformance/cost.test.ts` writes it anew.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { servers } from "../../bench/http/catalogue.ts";
import { run, type Measured } from "../../bench/http/run.ts";
import { Services } from "../../bench/http/services.ts";

interface Cost {
  readonly allocatedBytes: number;
  readonly cpuRatio: number;
}

const mixes = ["new", "replay"] as const;
type Costs = Readonly<Record<(typeof mixes)[number], Cost>>;

const file = new URL("cost-bounds.json", import.meta.url);
const growthMax = 1.5;

function costOf({ rounds }: Measured): Cost {
  const least = (values: readonly number[]): number => Math.min(...values);
  return {
    allocatedBytes: Math.round(least(rounds.map(({ own }) => own.allocatedBytes))),
    cpuRatio: Math.round(least(rounds.map(({ own, bare }) => own.cpuUs / bare.cpuUs)) * 100) / 100,
  };
}

describe("what protection costs on Express with the memory store", () => {
  let seen: Costs;
  let known: Costs;

  beforeAll(async () => {
    const services = new Services();
    const plan = {
      servers: servers.filter(({ name }) => name === "ichido-express-memory"),
      mixes,
      bodies: [150],
      rounds: 3,
      seconds: 10,
      requests: 800,
      connections: 32,
      pinned: false,
    };
    const { measured } = await run(plan, services, () => {});
    await services.close();
    seen = Object.fromEntries(measured.map((each) => [each.mix, costOf(each)])) as Costs;
    if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(file, `${JSON.stringify(seen, null, 2)}\n`);
    known = JSON.parse(readFileSync(file, "utf8")) as Costs;
  });

  it.each(mixes)("has not grown by half in allocated bytes: %s", (mix) => {
    expect(seen[mix].allocatedBytes).toBeGreaterThan(0);
    expect(seen[mix].allocatedBytes).toBeLessThan(known[mix].allocatedBytes * growthMax);
  });

  it.each(mixes)("has not grown by half in CPU, as a ratio to bare: %s", (mix) => {
    expect(seen[mix].cpuRatio).toBeGreaterThan(0);
    expect(seen[mix].cpuRatio).toBeLessThan(known[mix].cpuRatio * growthMax);
  });
});
