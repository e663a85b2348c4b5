import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIchido } from "ichido";
import { memoryStore } from "ichido/memory";
import { everyCrashPoint, fakeClock, fakeProvider, spawnChild } from "ichido/testing";
import type { CrashRun, FakeProvider } from "ichido/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { inOneFile } from "../support/in-one-file.ts";
import { pay } from "./payment.ts";

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

describe("a payment by a process with its keys in SQLite", { timeout: 180_000 }, () => {
  let folder: string;
  let provider: FakeProvider;
  let runs = 0;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "ichido-crash-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  beforeEach(() => {
    runs = 0;
  });

  const start = async (file: string, env: Readonly<Record<string, string>>) =>
    spawnChild(await inOneFile(new URL("./every-crash-point.child.ts", import.meta.url)), {
      args: [file, provider.url],
      env,
    });

  test("is made once, although the process is killed at the point", async () => {
    await everyCrashPoint<{ readonly killed: boolean } & World>(
      async (run) => {
        runs += 1;
        provider = await fakeProvider();
        const file = join(folder, `${runs}.db`);
        const first = await (await start(file, run.env)).exited;
        const answer = await eventually(async () => {
          const again = await start(file, {});
          await again.exited;
          const [, paid] = /^paid (.*)$/m.exec(again.lines.join("\n")) ?? [];
          if (paid === undefined) throw new Error(again.lines.join("\n"));
          return JSON.parse(paid) as unknown;
        }, 30_000);
        return { provider, answer, killed: first.signal === "SIGKILL" };
      },
      async (world, run) => {
        await chargedOnce(world);
        expect(world.killed).toBe(run.point !== undefined);
      },
      {
        points: [
          "before-claim",
          "after-claim",
          "before-step-start",
          "after-step-start",
          "before-step-finish",
          "after-step-finish",
          "before-complete",
          "after-complete",
        ],
      },
    );
  });
});
