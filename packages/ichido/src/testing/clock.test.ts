import { describe, expect, it } from "vitest";
import { fakeClock } from "./clock.ts";

describe("fake clock", () => {
  it("fires timers by due time, then in the order they were set, each at its own time", async () => {
    const clock = fakeClock();
    const fired: string[] = [];
    const set = (name: string, delayMs: number): unknown =>
      clock.environment.after(delayMs, () => fired.push(`${name}@${clock.environment.monotonicMs()}`));
    set("late", 30);
    set("first", 10);
    set("second", 10);
    set("beyond", 31);
    await clock.advance(30);
    expect(fired).toEqual(["first@10", "second@10", "late@30"]);
    expect(clock.pending).toBe(1);
  });

  it("lets everything a timer set off in microtasks happen before the next timer", async () => {
    const clock = fakeClock();
    const order: string[] = [];
    clock.environment.after(1, () => {
      void (async () => {
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
        order.push("promises of the first");
      })();
    });
    clock.environment.after(2, () => order.push("second"));
    await clock.advance(5);
    expect(order).toEqual(["promises of the first", "second"]);
  });

  it("fires timers that a timer sets, as long as they fall into the time that passes", async () => {
    const clock = fakeClock();
    const beats: number[] = [];
    const beat = (): void => {
      beats.push(clock.environment.monotonicMs());
      clock.environment.after(10, beat);
    };
    clock.environment.after(10, beat);
    await clock.advance(35);
    expect(beats).toEqual([10, 20, 30]);
    await clock.advance(5);
    expect(beats).toEqual([10, 20, 30, 40]);
  });

  it("never fires a cancelled timer, and cancelling twice is no error", async () => {
    const clock = fakeClock();
    let fired = false;
    const timer = clock.environment.after(1, () => {
      fired = true;
    });
    timer.cancel();
    timer.cancel();
    await clock.advance(10);
    expect(fired).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it("moves wall and monotonic time together, and steps the wall clock alone both ways", async () => {
    const clock = fakeClock({ wallMs: 1_000_000 });
    await clock.advance(500);
    expect([clock.environment.monotonicMs(), clock.environment.wallMs(), clock.nowMs()]).toEqual([
      500, 1_000_500, 1_000_500,
    ]);
    clock.stepWall(-400_000);
    expect([clock.environment.monotonicMs(), clock.nowMs()]).toEqual([500, 600_500]);
    clock.stepWall(500_000);
    expect(clock.nowMs()).toBe(1_100_500);
  });

  it("a stall lets time pass without a timer; what is due fires afterwards", async () => {
    const clock = fakeClock();
    const fired: number[] = [];
    clock.environment.after(10, () => void fired.push(clock.environment.monotonicMs()));
    clock.stall(100);
    expect([clock.environment.monotonicMs(), fired.length]).toEqual([100, 0]);
    await clock.advance(1);
    expect(fired).toEqual([100]);
  });

  it("a stall while time passes is not taken back", async () => {
    const clock = fakeClock();
    clock.environment.after(1, () => clock.stall(100));
    await clock.advance(5);
    expect(clock.environment.monotonicMs()).toBe(101);
  });

  it("gives the same bytes for the same seed, others for another, and spreads them", () => {
    const bytes = (seed: number): string =>
      Buffer.from(fakeClock({ seed }).environment.randomBytes(64)).toString("hex");
    expect(bytes(7)).toBe(bytes(7));
    expect(bytes(7)).not.toBe(bytes(8));
    const clock = fakeClock();
    const owners = new Set(
      Array.from({ length: 10_000 }, () => Buffer.from(clock.environment.randomBytes(16)).toString("hex")),
    );
    expect(owners.size).toBe(10_000);
    expect(new Set(clock.environment.randomBytes(4_096)).size).toBe(256);
  });

  it("refuses to go back by advance", async () => {
    await expect(fakeClock().advance(-1)).rejects.toThrow(/stepWall/);
  });
});
