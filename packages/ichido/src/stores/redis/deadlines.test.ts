import { describe, expect, it } from "vitest";
import { fakeClock } from "../../testing/clock.ts";
import { createDeadlines } from "./deadlines.ts";

const rethrow = (error: unknown): never => {
  throw error;
};
const asIs = { decode: (reply: unknown) => reply, recover: rethrow };
const never = (): Promise<never> => new Promise(() => undefined);

describe("deadlines", () => {
  it("S18 every call ends by its own deadline, whatever became of those before it", async () => {
    const clock = fakeClock();
    const deadlines = createDeadlines(clock.environment, 100);
    const ended: string[] = [];
    const track = (name: string, pending: Promise<unknown>): void =>
      void deadlines.bound(pending, asIs).then(
        () => ended.push(name),
        () => ended.push(`${name} late`),
      );
    track("a", never());
    await clock.advance(60);
    track("b", Promise.resolve());
    track("c", never());
    await clock.advance(39);
    expect(ended).toEqual(["b"]);
    await clock.advance(1);
    expect(ended).toEqual(["b", "a late"]);
    await clock.advance(59);
    expect(ended).toEqual(["b", "a late"]);
    await clock.advance(1);
    expect(ended).toEqual(["b", "a late", "c late"]);
    track("d", never());
    await clock.advance(100);
    expect(ended.at(-1)).toBe("d late");
  });

  it("S2 what arrives after its deadline is handed over once, and an error that comes late is nobody's", async () => {
    const clock = fakeClock();
    const deadlines = createDeadlines(clock.environment, 100);
    const late: number[] = [];
    const slow = Promise.withResolvers<number>();
    const broken = Promise.withResolvers<number>();
    const calls = [slow, broken].map(({ promise }) =>
      expect(deadlines.bound(promise, { ...asIs, onLate: (value: number) => void late.push(value) })).rejects.toThrow(
        "no answer within 100 ms",
      ),
    );
    await clock.advance(100);
    await Promise.all(calls);
    slow.resolve(7);
    broken.reject(new Error("lost"));
    await clock.advance(1);
    expect(late).toEqual([7]);
  });
});
