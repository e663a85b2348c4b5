import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { createGroup, type GroupOptions } from "./group.ts";

interface Ask {
  readonly id: string;
  readonly weight?: number;
}

/** A server that keeps every group until it is told to answer. */
function slowServer(changes: Partial<GroupOptions<Ask, string>> = {}) {
  const groups: { readonly ids: string[]; answer(): void; fail(error: Error): void }[] = [];
  const singles: string[] = [];
  const send = createGroup<Ask, string>({
    server: "the server",
    sizeMax: 4,
    waitMs: 1_000,
    idOf: (ask) => ask.id,
    weightOf: (ask) => ask.weight ?? 0,
    sendMany: (asks) =>
      new Promise((resolve, reject) => {
        const ids = asks.map((ask) => ask.id);
        groups.push({ ids, answer: () => resolve(ids.map((id) => `many ${id}`)), fail: reject });
      }),
    sendOne: (ask) => {
      singles.push(ask.id);
      return Promise.resolve(`one ${ask.id}`);
    },
    splits: (error) => error instanceof Error && error.message === "locked",
    ...changes,
  });
  return { send, groups, singles };
}

/** All that happens without input, output or timers. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("group", () => {
  it("sends a single request in the turn in which it was asked", async () => {
    const { send, groups } = slowServer();
    const answer = send({ id: "a" });
    await new Promise((resolve) => process.nextTick(resolve));
    expect(groups.map((group) => group.ids)).toEqual([["a"]]);
    groups[0]?.answer();
    expect(await answer).toBe("many a");
  });

  it("sends what was asked in one turn together, sorted", async () => {
    const { send, groups } = slowServer();
    const answers = ["c", "a", "b"].map((id) => send({ id }));
    await turn();
    expect(groups.map((group) => group.ids)).toEqual([["a", "b", "c"]]);
    groups[0]?.answer();
    expect(await Promise.all(answers)).toEqual(["many c", "many a", "many b"]);
  });

  it("gathers what comes while a group is under way, and sends it when that returns", async () => {
    const { send, groups } = slowServer();
    void send({ id: "a" });
    await turn();
    void send({ id: "b" });
    await turn();
    void send({ id: "c" });
    await turn();
    expect(groups).toHaveLength(1);
    groups[0]?.answer();
    await turn();
    expect(groups[1]?.ids).toEqual(["b", "c"]);
  });

  it("does not gather for ever behind a group that does not return", async () => {
    const { send, groups } = slowServer();
    void send({ id: "a" });
    await turn();
    void send({ id: "b" });
    const untilMs = performance.now() + 5_000;
    while (groups.length < 2 && performance.now() < untilMs) await sleep(2);
    expect(groups[1]?.ids).toEqual(["b"]);
  });

  it("has at most two groups under way", async () => {
    const { send, groups } = slowServer({ sizeMax: 1 });
    for (let index = 0; index < 4; index += 1) {
      void send({ id: `${index}` });
      await turn();
    }
    await sleep(40);
    expect(groups).toHaveLength(2);
    groups[0]?.answer();
    await turn();
    expect(groups).toHaveLength(3);
  });

  it("sends at most sizeMax together, and a crowd as two groups at once", async () => {
    const { send, groups } = slowServer();
    for (let index = 10; index < 22; index += 1) void send({ id: `${index}` });
    await turn();
    expect(groups.map((group) => group.ids.length)).toEqual([4, 4]);
    expect(groups[1]?.ids).toEqual(["14", "15", "16", "17"]);
    groups[0]?.answer();
    await turn();
    expect(groups[2]?.ids).toEqual(["18", "19", "20", "21"]);
  });

  it("has no identity in two groups of a crowd", async () => {
    const { send, groups } = slowServer();
    for (const id of ["a", "b", "c", "d", "a", "e"]) void send({ id });
    await turn();
    expect(groups.map((group) => group.ids)).toEqual([["a", "b", "c", "d"], ["e"]]);
    groups[0]?.answer();
    await turn();
    expect(groups[2]?.ids).toEqual(["a"]);
  });

  it("never has the same identity twice in one group, and keeps the order of the two", async () => {
    const { send, groups } = slowServer();
    const answered: number[] = [];
    const first = send({ id: "a" }).then(() => answered.push(1));
    const second = send({ id: "a" }).then(() => answered.push(2));
    void send({ id: "b" });
    await turn();
    expect(groups[0]?.ids).toEqual(["a", "b"]);
    groups[0]?.answer();
    await turn();
    expect(groups[1]?.ids).toEqual(["a"]);
    groups[1]?.answer();
    await Promise.all([first, second]);
    expect(answered).toEqual([1, 2]);
  });

  it("asks one by one after a failure that may be one member's", async () => {
    const { send, groups, singles } = slowServer();
    const answers = ["a", "b"].map((id) => send({ id }));
    await turn();
    groups[0]?.fail(new Error("locked"));
    expect(await Promise.all(answers)).toEqual(["one a", "one b"]);
    expect(singles).toEqual(["a", "b"]);
  });

  it("fails all members of a group that could not be sent at all", async () => {
    const { send, groups, singles } = slowServer();
    const answers = ["a", "b"].map((id) => send({ id }));
    await turn();
    groups[0]?.fail(new Error("refused"));
    const results = await Promise.allSettled(answers);
    expect(results.map((result) => result.status)).toEqual(["rejected", "rejected"]);
    expect(singles).toEqual([]);
  });

  it("lets a heavy request travel alone, and bounds the weight of a group", async () => {
    const { send, groups, singles } = slowServer();
    expect(await send({ id: "heavy", weight: 600_000 })).toBe("one heavy");
    expect(singles).toEqual(["heavy"]);
    for (const id of ["a", "b", "c"]) void send({ id, weight: 500_000 });
    await turn();
    expect(groups[0]?.ids).toEqual(["a", "b"]);
  });

  it("tells how long they have waited, and sends nobody with one who has much less time left", async () => {
    const waited: number[] = [];
    const { send, groups, singles } = slowServer({ waitMs: 400 });
    const counting = slowServer({
      waitMs: 400,
      sendMany: (asks, waitedMs) => {
        waited.push(waitedMs);
        return Promise.resolve(asks.map(() => undefined));
      },
      sendOne: (_, __, waitedMs) => Promise.resolve(String(waitedMs)),
    });
    expect(Number(await counting.send({ id: "a" }))).toBeGreaterThanOrEqual(waited[0] ?? expect.fail());
    void send({ id: "a" });
    await turn();
    void send({ id: "b" });
    await sleep(20);
    void send({ id: "old" });
    await sleep(100);
    void send({ id: "young" });
    groups[0]?.answer();
    groups[1]?.answer();
    await turn();
    expect(groups.slice(2).map((group) => group.ids)).toEqual([["old"], ["young"]]);
    expect(singles).toEqual([]);
  });

  it("refuses and never sends what could not leave in time", async () => {
    const { send, groups } = slowServer({ waitMs: 5, sizeMax: 1 });
    for (let index = 0; index < 2; index += 1) {
      void send({ id: `${index}` });
      await turn();
    }
    await sleep(30);
    const late = send({ id: "late" });
    const refused = expect(late).rejects.toThrow("could not be sent");
    await sleep(20);
    groups[0]?.answer();
    await refused;
    expect(groups.flatMap((group) => group.ids)).not.toContain("late");
  });
});
