import { createIchido, type Ichido } from "ichido";
import { memoryStore } from "ichido/memory";
import { everyCrashPoint, fakeClock, fakeProvider, spawnChild } from "ichido/testing";
import type { CrashRun, FakeProvider, FaultName } from "ichido/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { mariadbBench, postgresBench, sqliteBench, type Side } from "../effects/databases.ts";
import { eventually } from "../support/eventually.ts";
import { inOneFile } from "../support/in-one-file.ts";
import { describeWith } from "../support/services.ts";
import { optionsOfProcesses, pay } from "./payment.ts";
import { redisBench, type AnyBench } from "./redis-bench.ts";

vi.setConfig({ testTimeout: 180_000 });

interface World {
  readonly provider: FakeProvider;
  readonly answer: unknown;
}

/** One engine pays and may die; when its lease has lapsed, another one is asked for the same payment. */
async function payment(run: CrashRun, dedupes: boolean): Promise<World> {
  const clock = fakeClock();
  const store = memoryStore({ nowMs: clock.nowMs });
  const provider = await fakeProvider({ dedupes });
  const options = {
    store,
    dangerouslyShareKeys: true,
    onUnknown: "rerun",
    leaseMs: 30_000,
    sweepMs: "off",
    environment: clock.environment,
    onEvent: () => {},
  } as const;
  const doomed = createIchido({ ...options, faults: run.faults });
  await Promise.race([pay(doomed, provider.url).catch(() => {}), run.crashed]);
  await clock.advance(31_000);
  const answer = await pay(createIchido(options), provider.url);
  return { provider, answer };
}

async function chargedOnce({ provider, answer }: World): Promise<void> {
  await provider.close();
  expect(provider.ledger()).toHaveLength(1);
  expect(answer).toEqual({ charge: provider.ledger()[0]?.id });
}

describe("a payment", () => {
  test("is made once, whatever engine dies at whatever point", async () => {
    const { verdicts } = await everyCrashPoint((run) => payment(run, true), chargedOnce);
    const points = new Set(verdicts.map(({ point }) => point));
    for (const point of [
      "after-claim",
      "after-step-start",
      "before-step-finish",
      "before-complete",
      "after-complete",
    ]) {
      expect(points).toContain(point);
    }
    expect(verdicts.slice(1).every(({ reached }) => reached)).toBe(true);
  });

  test("the harness sees a second charge where the provider does not honour references", async () => {
    const failure: unknown = await everyCrashPoint((run) => payment(run, false), chargedOnce).catch(
      (error: unknown) => error,
    );
    expect(failure).toBeInstanceOf(AggregateError);
    expect(String(failure)).toMatch(/before-step-finish #1 +crashed +BROKEN/);
    expect(String(failure)).toMatch(/after-claim #1 +crashed +holds/);
  });
});

const points = [
  "before-claim",
  "after-claim",
  "before-step-start",
  "after-step-start",
  "before-step-finish",
  "after-step-finish",
  "before-complete",
  "after-complete",
] as const satisfies readonly FaultName[];

/** A process is asked, and killed at the point; then this one is asked for the same payment. */
function byProcesses(make: () => Promise<AnyBench>): void {
  let bench: AnyBench;
  let side: Side;
  let second: Ichido;
  let runs = 0;
  beforeAll(async () => {
    bench = await make();
    side = bench.side();
    second = createIchido({ ...optionsOfProcesses, store: side.store });
  });
  afterAll(async () => {
    await second?.close();
    await side?.close();
    await bench?.close();
  });

  async function payment(run: CrashRun, dedupes: boolean): Promise<World & { readonly killed: boolean }> {
    runs += 1;
    const provider = await fakeProvider({ dedupes });
    const program = await inOneFile(new URL("./every-crash-point.child.ts", import.meta.url));
    const key = `k${runs}`;
    const child = await spawnChild(program, { args: [bench.dialect, bench.url, provider.url, key], env: run.env });
    const { signal } = await child.exited;
    const answer = await eventually(() => pay(second, provider.url, key), 30_000);
    return { provider, answer, killed: signal === "SIGKILL" };
  }

  test("I12 is made once, although the process is killed at the point", async () => {
    const { verdicts } = await everyCrashPoint(
      (run) => payment(run, true),
      async (world, run) => {
        await chargedOnce(world);
        expect(world.killed).toBe(run.point !== undefined);
      },
      { points },
    );
    expect(verdicts).toHaveLength(points.length + 1);
  });

  test("I19 the harness sees the second charge of a process that is killed after the first", async () => {
    const failure: unknown = await everyCrashPoint((run) => payment(run, false), chargedOnce, {
      points: ["before-step-finish"],
    }).catch((error: unknown) => error);
    expect(String(failure)).toMatch(/before-step-finish #1 +BROKEN/);
    expect(String(failure)).toMatch(/no crash +holds/);
  });
}

describe("a payment by a process with its keys in SQLite", () => byProcesses(() => sqliteBench()));
describeWith("postgres", "a payment by a process with its keys in PostgreSQL", () => byProcesses(postgresBench));
describeWith("mariadb", "a payment by a process with its keys in MariaDB", () => byProcesses(mariadbBench));
describeWith("redis", "a payment by a process with its keys in Redis", () => byProcesses(redisBench));
