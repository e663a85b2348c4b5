import { describe, expect, it } from "vitest";
import { bed, executionOf, type Bed } from "../../../../../test/support/engine-bed.ts";
import type { IchidoEvent } from "../contract/events.ts";
import type { VerifyAnswer } from "../contract/options.ts";
import type { ListQuery } from "../contract/store.ts";
import { createReconciler, type Reconciler } from "./reconciler.ts";
import type { ReconcilerOptions } from "./reconciler-options.ts";

const operation = "payment.create";
const notYet = { verdict: "not-visible-yet" } as const;
const found = { verdict: "found", response: { status: 201, body: { id: "ch_1" } } } as const;

async function open(world: Bed, key: string, ofOperation = operation): Promise<void> {
  const execution = executionOf(await world.ask({ key, route: { operation: ofOperation } }));
  await execution.context.unknown({ status: 202, body: { state: "pending" } });
}

function reconcilerOf(
  world: Bed,
  verify: () => VerifyAnswer | Promise<VerifyAnswer>,
  options: Partial<ReconcilerOptions> = {},
): Reconciler {
  const { environment } = world.clock;
  const operations = { [operation]: { verify } };
  return createReconciler(world.ichido, { operations, olderThanMs: 0, everyMs: 1_000, environment, ...options });
}

/** What the store is asked to list, and when. */
function listsOf({ store, clock }: Bed): { readonly query: ListQuery; readonly atMs: number }[] {
  const lists: { query: ListQuery; atMs: number }[] = [];
  const list = store.list.bind(store);
  store.list = (query) => {
    lists.push({ query, atMs: clock.environment.monotonicMs() });
    return list(query);
  };
  return lists;
}

describe("a look", () => {
  it("lists four times as many as it may take, and the next one begins where it stopped", async () => {
    const world = bed();
    for (let at = 0; at < 10; at += 1) await open(world, `key-${at}`);
    const lists = listsOf(world);
    const reconciler = reconcilerOf(world, () => notYet, { batchMax: 1 });
    for (let look = 0; look < 4; look += 1) expect(await reconciler.tick()).toMatchObject({ waiting: 1 });
    expect(lists.map(({ query }) => query.limit)).toEqual([4, 4, 4, 4]);
    expect(lists.map(({ query }) => query.cursor !== undefined)).toEqual([false, true, true, false]);
    expect(new Set(lists.map(({ query }) => query.cursor)).size).toBe(3);
    expect(lists[0]?.query).toMatchObject({ operation, state: "unknown" });
  });

  it("lists no more than a store gives out at once", async () => {
    const world = bed();
    const lists = listsOf(world);
    await reconcilerOf(world, () => notYet, { batchMax: 251 }).tick();
    await reconcilerOf(world, () => notYet, { batchMax: 249 }).tick();
    expect(lists.map(({ query }) => query.limit)).toEqual([1_000, 996]);
  });

  it("has one bound for all operations, and does not list what it has no room for", async () => {
    const world = bed();
    await open(world, "a", "first");
    await open(world, "b", "second");
    await open(world, "c", "second");
    const lists = listsOf(world);
    const operations = { first: { verify: () => notYet }, second: { verify: () => notYet } };
    const one = reconcilerOf(world, () => notYet, { operations, batchMax: 1 });
    expect(await one.tick()).toMatchObject({ waiting: 1 });
    expect(lists.map(({ query }) => query.operation)).toEqual(["first"]);
    const two = reconcilerOf(world, () => notYet, { operations, batchMax: 2 });
    expect(await two.tick()).toMatchObject({ waiting: 2 });
    expect(lists.slice(1).map(({ query }) => [query.operation, query.limit])).toEqual([
      ["first", 8],
      ["second", 4],
    ]);
  });

  it("is joined by whoever asks for one meanwhile", async () => {
    const world = bed();
    const lists = listsOf(world);
    const reconciler = reconcilerOf(world, () => notYet);
    const looks = [reconciler.tick(), reconciler.tick()];
    expect(looks[0]).toBe(looks[1]);
    await Promise.all(looks);
    expect(lists).toHaveLength(1);
    await reconciler.tick();
    expect(lists).toHaveLength(2);
  });
});

describe("looks by themselves", () => {
  it("come a quarter of `everyMs` earlier or later, so that processes do not look together", async () => {
    const world = bed();
    const lists = listsOf(world);
    const reconciler = reconcilerOf(world, () => notYet);
    reconciler.start();
    await world.clock.advance(150_000);
    await reconciler.stop();
    const pauses = lists.map(({ atMs }, at) => atMs - (lists[at - 1]?.atMs ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(750);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(1_250);
    expect(Math.min(...pauses)).toBeLessThan(790);
    expect(Math.max(...pauses)).toBeGreaterThan(1_210);
  });

  it("are not put off by a second start", async () => {
    const world = bed();
    const lists = listsOf(world);
    const reconciler = reconcilerOf(world, () => notYet);
    reconciler.start();
    await world.clock.advance(700);
    reconciler.start();
    await world.clock.advance(560);
    expect(lists).toHaveLength(1);
    await reconciler.stop();
  });

  it("end with stop(), also where one was under way, which stop() waits for", async () => {
    const world = bed();
    await open(world, "a");
    const lists = listsOf(world);
    const asked = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<VerifyAnswer>();
    const reconciler = reconcilerOf(world, () => {
      asked.resolve();
      return answered.promise;
    });
    reconciler.start();
    await world.clock.advance(1_250);
    await asked.promise;
    let isStopped = false;
    const stopped = reconciler.stop().then(() => (isStopped = true));
    await world.clock.advance(100);
    expect(isStopped).toBe(false);
    answered.resolve(found);
    await world.clock.advance(0);
    await stopped;
    await world.clock.advance(60_000);
    expect(lists).toHaveLength(1);
    expect((await world.ask({ key: "a" })).kind).toBe("replay");
  });
});

describe("what a reconciler tells", () => {
  const types = (events: readonly IchidoEvent[], ...wanted: string[]): string[] =>
    events.map((event) => (event.type === "warning" ? event.code : event.type)).filter((type) => wanted.includes(type));

  it("goes to the listener of its engine too, but for warnings where it has one of its own", async () => {
    const own: IchidoEvent[] = [];
    for (const onEvent of [undefined, (event: IchidoEvent) => void own.push(event)]) {
      const world = bed();
      await open(world, "a");
      const lists = listsOf(world);
      const reconciler = reconcilerOf(world, () => found, onEvent && { onEvent });
      world.store.break("list", "fail", 1);
      reconciler.start();
      await world.clock.advance(3_000);
      await reconciler.stop();
      expect(lists.length).toBeGreaterThan(1);
      const told = types(world.events, "reconcile-failed", "reconciled");
      expect(told).toEqual(onEvent === undefined ? ["reconcile-failed", "reconciled"] : ["reconciled"]);
    }
    expect(types(own, "reconcile-failed", "reconciled")).toEqual(["reconcile-failed", "reconciled"]);
    expect(own.find((event) => event.type === "warning")).toMatchObject({
      message: "the records in doubt could not be listed; they are looked for again",
      error: expect.any(Error) as Error,
    });
  });

  it("links a record to the console where a person has to settle it, and no other", async () => {
    const world = bed({ consoleUrl: "https://ops.example/ichido", operationIdSecret: "s".repeat(32) });
    await open(world, "a");
    await open(world, "b");
    await world.clock.advance(60_000);
    const [first] = [await reconcilerOf(world, () => found, { batchMax: 1 }).tick()];
    expect(first).toMatchObject({ adopted: 1 });
    expect(await reconcilerOf(world, () => notYet, { giveUpAfterMs: 1 }).tick()).toMatchObject({ held: 1 });
    const told = world.events.filter((event) => event.type === "reconciled");
    expect(
      told.map(({ outcome, console: link }) => [outcome, link?.startsWith("https://ops.example/ichido/#/keys/")]),
    ).toEqual([
      ["adopted", undefined],
      ["held", true],
    ]);
  });
});

describe("options of a reconciler", () => {
  const { store } = bed();
  const make = (options: object) => () => createReconciler(store, options as ReconcilerOptions);

  it.each([undefined, null, 7, "payment.create", {}])("operations: %j is refused", (operations) => {
    expect(make({ operations })).toThrow(/option operations: expected at least one operation with its verify/);
  });

  it("names the operation whose entry is wrong, and what is wrong with it", () => {
    expect(make({ operations: { "payment.create": {} } })).toThrow(/option operations\["payment\.create"\]\.verify/);
    const misspelt = { "payment.create": { verify: () => notYet, rerunn: () => undefined } };
    expect(make({ operations: misspelt })).toThrow(/operations\["payment\.create"\].*did you mean rerun/);
    expect(make({ operations: { a: { verify: () => notYet } }, every: 5 })).toThrow(/createReconciler.*everyMs/);
  });
});
