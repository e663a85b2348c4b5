import { describe, expect, test } from "vitest";
import { combineFaults, CrashError, crashAt, faultsFromEnv, faultsToEnv } from "./faults.ts";

const pending = Symbol("pending");

async function stateOf(work: void | Promise<void>): Promise<unknown> {
  return Promise.race([work, new Promise((resolve) => setTimeout(resolve, 20, pending))]);
}

describe("crashAt", () => {
  test("throws at the named point, at the nth passing, once", async () => {
    const hook = crashAt("after-claim", "throw", { nth: 2 });
    const pass = async (): Promise<void> => hook("after-claim");
    await hook("before-claim");
    await pass();
    await expect(pass()).rejects.toBeInstanceOf(CrashError);
    await pass();
    expect(hook.hits).toBe(3);
    await hook.reached;
  });

  test("hang stops one call and lets the others pass", async () => {
    const hook = crashAt("before-complete", "hang");
    expect(await stateOf(hook("before-complete"))).toBe(pending);
    expect(await stateOf(hook("before-renew"))).not.toBe(pending);
  });

  test("die stops every later point of the same hook, as a killed process would", async () => {
    const hook = crashAt("after-handler", "die");
    expect(await stateOf(hook("before-renew"))).not.toBe(pending);
    expect(await stateOf(hook("after-handler"))).toBe(pending);
    expect(await stateOf(hook("before-renew"))).toBe(pending);
  });

  test("runs an action of one's own", async () => {
    const seen: string[] = [];
    await crashAt("after-commit", () => void seen.push("here"))("after-commit");
    expect(seen).toEqual(["here"]);
  });

  test("refuses a point that does not exist and a passing that cannot be", () => {
    expect(() => crashAt("after-lunch" as never, "throw")).toThrow(/after-lunch.*before-claim/);
    expect(() => crashAt("after-claim", "throw", { nth: 0 })).toThrow(/nth is 0/);
  });
});

describe("faultsFromEnv", () => {
  test("is absent without the variable, so that a child runs as in production", () => {
    expect(faultsFromEnv({})).toBeUndefined();
    expect(faultsFromEnv({ ICHIDO_FAULTS: " " })).toBeUndefined();
  });

  test("reads point, action and passing, several of them", async () => {
    const hook = faultsFromEnv({ ICHIDO_FAULTS: "after-claim:throw:2, before-commit:hang" });
    await hook?.("after-claim");
    await expect(hook?.("after-claim")).rejects.toBeInstanceOf(CrashError);
    expect(await stateOf(hook?.("before-commit"))).toBe(pending);
  });

  test("names what is wrong instead of running without a fault", () => {
    expect(() => faultsFromEnv({ ICHIDO_FAULTS: "after-claim:explode" })).toThrow(/after-claim:explode/);
    expect(() => faultsFromEnv({ ICHIDO_FAULTS: "nowhere:kill" })).toThrow(/nowhere/);
    expect(() => faultsFromEnv({ ICHIDO_FAULTS: "after-claim:kill:0" })).toThrow(/after-claim:kill:0/);
  });

  test("understands what faultsToEnv says", async () => {
    const hook = faultsFromEnv(faultsToEnv("before-step-start", "throw"));
    await expect(hook?.("before-step-start")).rejects.toMatchObject({ point: "before-step-start" });
  });
});

describe("combineFaults", () => {
  test("runs the hooks in order", async () => {
    const seen: string[] = [];
    const hook = combineFaults(
      (name) => void seen.push(`1 ${name}`),
      (name) => void seen.push(`2 ${name}`),
    );
    await hook("after-claim");
    expect(seen).toEqual(["1 after-claim", "2 after-claim"]);
  });
});
