/**
 * A process is killed, or frozen and overtaken, at every point that an operation passes; then it is asked for again until
 * there is an answer. The ledgers have no unique keys: a second effect would be seen, not prevented.
 */
import { createReconciler } from "ichido";
import { fakeProvider, spawnChild } from "ichido/testing";
import type { FakeProvider, FaultName } from "ichido/testing";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { caller } from "../effects/callers.ts";
import type { Answer, Caller } from "../effects/callers.ts";
import { mariadbBench, postgresBench, sqliteBench } from "../effects/databases.ts";
import type { Side } from "../effects/databases.ts";
import { eventually } from "../support/eventually.ts";
import { inOneFile } from "../support/in-one-file.ts";
import { noteProof } from "../support/proof.ts";
import { describeWith } from "../support/services.ts";
import { points } from "./fault-points.ts";
import { redisBench, type AnyBench } from "./redis-bench.ts";
import { handlerOf, leaseMs } from "./matrix-shop.ts";
import type { Defect, Scenario } from "./matrix-shop.ts";

vi.setConfig({ testTimeout: 240_000 });

interface Verdict {
  readonly name: string;
  readonly crashed: boolean;
  readonly charges: number;
  readonly orders: number;
  readonly answer: Answer;
  readonly settled: boolean;
}

const ofCommits: readonly FaultName[] = ["before-commit", "after-commit"];

function suite(make: () => Promise<AnyBench>, transactionMode: boolean, ordersInStore = true): void {
  let bench: AnyBench;
  let side: Side;
  let shop: Caller;
  let provider: FakeProvider;
  let runs = 0;
  const tallied = { points: 0, killed: 0, replayed: 0, violations: 0 };
  beforeAll(async () => {
    bench = await make();
    side = bench.side();
    shop = caller(side, { leaseMs });
    provider = await fakeProvider();
  });
  afterAll(async () => {
    const { points, killed, replayed, violations } = tallied;
    if (bench !== undefined)
      noteProof(`crash-matrix-${bench.dialect}`, {
        kind: "crash matrix",
        what: bench.dialect,
        command: "npm test -- test/crash/matrix.test.ts",
        tried: points,
        unit: "points",
        faults: points,
        counts: { killed, replayed, frozen: points - killed },
        violations,
        isExhaustive: true,
      });
    await shop?.ichido.close();
    await side?.close();
    await provider?.close();
    await bench?.close();
  });

  interface Try {
    readonly scenario: Scenario;
    readonly point?: FaultName;
    readonly pause?: FaultName;
    readonly defect?: Defect;
  }

  async function attempt({ scenario, point, pause, defect = "none" }: Try): Promise<Verdict> {
    runs += 1;
    const key = `${scenario}-${runs}`;
    const amount = 1_000 + runs;
    if (scenario === "doubts") provider.next("charge-and-drop");
    const child = await spawnChild(await inOneFile(new URL("./matrix.child.ts", import.meta.url)), {
      args: [bench.dialect, bench.url, provider.url, scenario, defect, key, String(amount)],
      env: {
        ICHIDO_FAULTS: point === undefined ? undefined : `${point}:kill:1`,
        MATRIX_PAUSE: pause,
      },
    });
    if (pause === undefined) await child.exited;
    else await child.waitFor(/^paused$/);
    const handler = handlerOf(
      scenario === "doubts" ? "pays" : scenario,
      key,
      provider.url,
      amount,
      ordersInStore,
      defect,
    );
    const mode = scenario === "orders" ? "transaction" : "lease";
    const reconciler = createReconciler(side.store, {
      olderThanMs: 0,
      operations: { "order.create": { verify: () => ({ verdict: "absent" }) } },
    });
    const answer = await eventually(async () => {
      const again = await shop.ask(key, handler, { mode }, { amount });
      if (again.code === "outcome-unknown") await reconciler.tick();
      expect(again.status, again.text).toBe(201);
      return again;
    }, 20_000);
    if (pause !== undefined) {
      child.resume();
      await child.exited;
    }
    const { records } = await side.store.list({ key, limit: 1 });
    // Word of its death may come after the answers of those who went on.
    const exit = point === undefined ? child.exit : await child.exited;
    return {
      name: `${scenario} ${point ?? pause ?? "undisturbed"}`,
      crashed: exit?.signal === "SIGKILL",
      charges: provider.ledger().filter((entry) => entry.amount === amount).length,
      orders: (await bench.effects(key)).length,
      answer,
      settled: records[0]?.state === "completed",
    };
  }

  function broken({ charges, orders, settled }: Verdict, scenario: Scenario): boolean {
    return orders !== Number(ordersInStore) || charges !== (scenario === "orders" ? 0 : 1) || !settled;
  }

  function tally(verdicts: readonly Verdict[], bad: readonly Verdict[]): void {
    tallied.points += verdicts.length;
    tallied.killed += verdicts.filter(({ crashed }) => crashed).length;
    tallied.replayed += verdicts.filter(({ answer }) => answer.replayed).length;
    tallied.violations += bad.length;
  }

  const scenarios = (Object.keys(points) as Scenario[]).filter((each) => each !== "orders" || transactionMode);

  test.each(scenarios)(
    "I1 I2 I12 %s: one charge, one order, one answer, wherever the process is killed",
    async (scenario) => {
      const verdicts: Verdict[] = [];
      const passed = points[scenario].filter((point) => ordersInStore || !ofCommits.includes(point));
      for (const point of passed) verdicts.push(await attempt({ scenario, point }));
      const bad = verdicts.filter((verdict) => broken(verdict, scenario));
      tally(verdicts, bad);
      console.log(
        `crash matrix, ${bench.dialect}, ${scenario}: ${verdicts.length} points, ` +
          `${verdicts.filter(({ crashed }) => crashed).length} killed, ` +
          `${verdicts.filter(({ answer }) => answer.replayed).length} replayed, ${bad.length} violations`,
      );
      expect(bad).toEqual([]);
      expect(verdicts.filter(({ crashed }) => !crashed).map(({ name }) => name)).toEqual([]);
    },
  );

  const pauses: readonly FaultName[] = [
    "before-handler",
    "after-step-start",
    "before-step-finish",
    "after-step-finish",
  ];

  test("I5 a process that was frozen and overtaken changes nothing when it wakes up", async () => {
    const verdicts: Verdict[] = [];
    for (const pause of pauses) verdicts.push(await attempt({ scenario: "pays", pause }));
    const bad = verdicts.filter((verdict) => broken(verdict, "pays"));
    tally(verdicts, bad);
    console.log(`crash matrix, ${bench.dialect}, frozen: ${verdicts.length} points, ${bad.length} violations`);
    expect(bad).toEqual([]);
  });

  if (!ordersInStore) {
    test("I19 the harness sees two charges where the provider is not told that it is the same one", async () => {
      const verdict = await attempt({ scenario: "pays", point: "before-step-finish", defect: "no-reference" });
      expect(verdict).toMatchObject({ crashed: true, charges: 2 });
    });
    return;
  }

  test("I19 the harness sees two orders where order and completion are two commits", async () => {
    const verdict = await attempt({ scenario: "pays", point: "after-commit", defect: "two-commits" });
    expect(verdict).toMatchObject({ crashed: true, charges: 1, orders: 2 });
  });

  test("I19 the harness sees two orders where nobody looks at the fence", async () => {
    const verdict = await attempt({ scenario: "pays", pause: "after-step-finish", defect: "no-fence" });
    expect(verdict.orders).toBe(2);
  });
}

describe("crash matrix on SQLite", () => suite(() => sqliteBench(), true));
describeWith("postgres", "crash matrix on PostgreSQL", () => suite(postgresBench, true));
describeWith("mariadb", "crash matrix on MariaDB", () => suite(mariadbBench, false));
describeWith("redis", "crash matrix on Redis", () => suite(redisBench, false, false));
