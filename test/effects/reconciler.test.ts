/** Payments whose owner does not know their outcome, a provider that does, and several reconcilers at once. */
import { createReconciler } from "ichido";
import type { ReconcilerOptions } from "ichido";
import { fakeProvider } from "ichido/testing";
import type { FakeProvider } from "ichido/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeWith } from "../support/services.ts";
import { caller } from "./callers.ts";
import type { Caller, Handler } from "./callers.ts";
import { mariadbBench, postgresBench, sqliteBench } from "./databases.ts";
import type { Bench, Side } from "./databases.ts";

function suite(make: () => Promise<Bench>): void {
  let bench: Bench;
  let sides: Side[];
  let shop: Caller;
  let provider: FakeProvider;
  beforeAll(async () => {
    bench = await make();
    sides = [bench.side(), bench.side(), bench.side()];
    shop = caller(sides[0] as Side);
    provider = await fakeProvider();
  });
  afterAll(async () => {
    await shop?.ichido.close();
    await Promise.all((sides ?? []).map((side) => side.close()));
    await provider?.close();
    await bench?.close();
  });

  async function charge(reference: string): Promise<void> {
    await fetch(`${provider.url}/charges`, {
      method: "POST",
      headers: { "idempotency-key": reference },
      body: JSON.stringify({ amount: 500, currency: "EUR" }),
      signal: AbortSignal.timeout(5_000),
    });
  }

  /** The provider charges, or does not, and resets the connection: the same error. */
  const paying: Handler = async (context) => {
    await context
      .step("bank.charge", async ({ reference }) => {
        await charge(reference);
        return "charged";
      })
      .catch(() => context.unknown({ status: 202, body: { state: "pending" } }));
    return { status: 500 };
  };

  function reconcilers(asked: string[]): ReturnType<typeof createReconciler>[] {
    const options: ReconcilerOptions = {
      olderThanMs: 0,
      operations: {
        "order.create": {
          async verify({ identity, reference, steps, signal }) {
            asked.push(identity.key);
            expect(steps).toMatchObject([{ name: "bank.charge", state: "started" }]);
            const answer = await fetch(`${provider.url}/charges?reference=${reference("bank.charge")}`, { signal });
            const [found] = (await answer.json()) as { id: string }[];
            return found === undefined
              ? { verdict: "absent" }
              : { verdict: "found", response: { status: 201, body: { charge: found.id } } };
          },
        },
      },
    };
    return sides.map(({ store }) => createReconciler(store, options));
  }

  test("steps: what was charged is adopted, what was not is handed back, each decided once", async () => {
    const keys = Array.from({ length: 12 }, (_, at) => `pay-${at}`);
    for (const [at, key] of keys.entries()) {
      provider.next(at % 2 === 0 ? "charge-and-drop" : "drop");
      expect((await shop.ask(key, paying)).status).toBe(202);
    }
    expect(await sides[0]?.store.stats()).toMatchObject({ unknown: keys.length });
    const asked: string[] = [];
    const reports = await Promise.all(reconcilers(asked).map((reconciler) => reconciler.tick()));
    const sum = (name: "adopted" | "released" | "failed"): number =>
      reports.reduce((total, report) => total + report[name], 0);
    expect([sum("adopted"), sum("released"), sum("failed")]).toEqual([6, 6, 0]);
    expect([...new Set(asked)].toSorted()).toEqual(keys.toSorted());
    for (const [at, key] of keys.entries()) {
      const again = await shop.ask(key, async (context) => {
        const value = await context.step("bank.charge", async ({ reference }) => {
          await charge(reference);
          return "charged";
        });
        return { status: 201, body: { value } };
      });
      expect(again).toMatchObject({ status: 201, replayed: at % 2 === 0 });
    }
    expect(provider.ledger()).toHaveLength(keys.length);
    const { records } = (await sides[0]?.store.list({ key: "pay-0", limit: 1 })) ?? { records: [] };
    const audit = records[0] === undefined ? [] : await sides[1]?.store.audit(records[0].identity);
    expect(audit).toMatchObject([{ actor: "ichido reconciler", action: "adopt" }]);
  });
}

describe("the reconciler on SQLite", () => suite(() => sqliteBench()));
describeWith("postgres", "the reconciler on PostgreSQL", () => suite(postgresBench));
describeWith("mariadb", "the reconciler on MariaDB", () => suite(mariadbBench));
