import { describe, expect, it } from "vitest";
import { fakeClock } from "../../testing/clock.ts";
import { DeadlineExceeded } from "./deadline.ts";
import { Deadlines } from "./deadlines.ts";
import { systemEnvironment, type Environment } from "./environment.ts";

const never = (): Promise<never> => new Promise(() => undefined);

describe("deadlines", () => {
  it("every call ends by its own deadline, whatever became of those before and after it", async () => {
    const clock = fakeClock();
    const deadlines = new Deadlines(clock.environment, 100);
    const ended: string[] = [];
    const track = (name: string, pending: Promise<unknown>): void =>
      void deadlines.bound(pending).then(
        () => ended.push(name),
        (error: unknown) => ended.push(error instanceof DeadlineExceeded ? `${name} late` : `${name} failed`),
      );
    track("a", never());
    await clock.advance(60);
    track("b", Promise.resolve());
    track("c", never());
    track("d", Promise.reject(new Error("refused")));
    await clock.advance(39);
    expect(ended).toEqual(["b", "d failed"]);
    await clock.advance(1);
    expect(ended).toEqual(["b", "d failed", "a late"]);
    await clock.advance(59);
    expect(ended).toHaveLength(3);
    await clock.advance(1);
    expect(ended.at(-1)).toBe("c late");
    track("e", never());
    await clock.advance(99);
    expect(ended.at(-1)).toBe("c late");
    await clock.advance(1);
    expect(ended.at(-1)).toBe("e late");
  });

  it("what arrives late is handed over once, and an error that comes late is nobody's", async () => {
    const clock = fakeClock();
    const deadlines = new Deadlines(clock.environment, 100);
    const late: string[] = [];
    const value = Promise.withResolvers<string>();
    const failure = Promise.withResolvers<string>();
    const first = expect(deadlines.bound(value.promise, { late: (each) => void late.push(each) })).rejects.toThrow(
      "100 ms",
    );
    const second = expect(deadlines.bound(failure.promise, { late: (each) => void late.push(each) })).rejects.toThrow(
      "100 ms",
    );
    await clock.advance(100);
    await Promise.all([first, second]);
    value.resolve("a grant");
    failure.reject(new Error("too late to matter"));
    await clock.advance(1);
    expect(late).toEqual(["a grant"]);
  });

  it("a caller learns of a value that the end of its call cannot read, and of what is no promise", async () => {
    const deadlines = new Deadlines(fakeClock().environment, 100);
    const worked = (value: object): void => void ("outcome" in value);
    await expect(deadlines.bound(Promise.resolve(undefined as never), { worked })).rejects.toThrow(TypeError);
    const failed = (): Error => new Error("the store failed");
    await expect(deadlines.bound(undefined as never, { failed })).rejects.toThrow("the store failed");
    expect(deadlines.busy).toBe(false);
  });

  it("what answers before `then` returns has ended, and takes no other call along", async () => {
    const clock = fakeClock();
    const deadlines = new Deadlines(clock.environment, 100);
    const other = expect(deadlines.bound(never())).rejects.toThrow("100 ms");
    const ends: string[] = [];
    // oxlint-disable-next-line no-thenable -- such as a store of the user's own may make
    const atOnce = { then: (resolve: (value: string) => void) => resolve("granted") };
    const answer = deadlines.bound(atOnce as Promise<string>, {
      worked: (value) => void ends.push(value),
      failed: () => new Error(String(ends.push("failed"))),
    });
    expect(await answer).toBe("granted");
    await clock.advance(100);
    await other;
    expect(ends).toEqual(["granted"]);
    expect(deadlines.busy).toBe(false);
  });

  it("many calls share one timer, which holds the process only while one of them is under way", async () => {
    const held: boolean[] = [];
    let timers = 0;
    const environment: Environment = {
      ...systemEnvironment,
      after(delayMs, run, options) {
        timers += 1;
        held.push(options?.hold === true);
        const timer = systemEnvironment.after(delayMs, run, { hold: false });
        return { cancel: () => timer.cancel(), hold: (on) => void held.push(on) };
      },
    };
    const deadlines = new Deadlines(environment, 60_000);
    for (let call = 0; call < 100; call += 1) await deadlines.bound(Promise.resolve(call));
    expect(timers).toBe(1);
    expect(held.at(-1)).toBe(false);
    const pending = Promise.withResolvers<void>();
    const call = deadlines.bound(pending.promise);
    expect(held.at(-1)).toBe(true);
    pending.resolve();
    await call;
    expect(held.at(-1)).toBe(false);
  });
});
