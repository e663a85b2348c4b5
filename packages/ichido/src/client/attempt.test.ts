import { describe, expect, it, vi } from "vitest";
import { createAttempts, type Attempts } from "./attempt.ts";
import type { AttemptStorage } from "./storage.ts";

const dayMs = 86_400_000;

function setUp(options: Partial<Parameters<typeof createAttempts>[0]> = {}) {
  const items = new Map<string, string>();
  const storage: AttemptStorage = {
    getItem: (name) => items.get(name),
    setItem: (name, value) => items.set(name, value),
    removeItem: (name) => items.delete(name),
  };
  const clock = { nowMs: 40 * dayMs };
  let made = 0;
  const keys = (): string => `key-${(made += 1)}`;
  const attempts = createAttempts({ storage, keys, nowMs: () => clock.nowMs, ...options });
  const kept = (name: string): unknown => JSON.parse(items.get(`ichido:attempt:${name}`) ?? "null");
  return { items, clock, attempts, kept };
}

async function done(attempts: Attempts, name: string, payload: unknown): Promise<string> {
  const attempt = await attempts.create(name, payload);
  await attempts.markSent(attempt);
  await attempts.settle(attempt, "done");
  return attempt.key;
}

describe("an attempt", () => {
  it("is new, the same for the same intent, and kept with a hash in place of its payload", async () => {
    const { attempts, clock, kept } = setUp();
    const first = await attempts.create("cart", { total: 5 });
    expect(first).toEqual({ name: "cart", key: "key-1", bornAtMs: clock.nowMs, resumed: false });
    clock.nowMs += 1_000;
    expect(await attempts.create("cart", { total: 5 })).toEqual(first);
    expect(kept("cart")).toEqual({ key: "key-1", hash: expect.stringMatching(/^[0-9a-f]{64}$/), bornAtMs: 40 * dayMs });
    expect((await attempts.create("another", { total: 5 })).key).toBe("key-2");
  });

  it("that is kept already is not written again by a look at it", async () => {
    const { attempts, items } = setUp();
    await attempts.create("cart", 1);
    const write = vi.spyOn(items, "set");
    await attempts.create("cart", 1);
    expect(write.mock.calls.map(([name]) => name)).toEqual(["ichido:made"]);
  });

  it("has another key for another payload while it was not sent, and is refused once it was", async () => {
    const { attempts } = setUp();
    await attempts.create("cart", 1);
    const second = await attempts.create("cart", 2);
    expect(second.key).toBe("key-2");
    expect(await attempts.markSent(second)).toEqual({ sentAtMs: undefined, sends: 1 });
    await expect(attempts.create("cart", 3)).rejects.toMatchObject({
      code: "attempt-changed",
      message:
        'attempt "cart" was sent with other content. Use the original, or let the person decide and call startOver()',
    });
    expect(await attempts.create("cart", 2)).toMatchObject({ key: "key-2", resumed: true });
    await attempts.startOver("cart");
    expect(await attempts.create("cart", 3)).toMatchObject({ key: "key-3", resumed: false });
  });

  it("counts its sends, from the first one, and refuses other content", async () => {
    const { attempts, clock } = setUp();
    const attempt = await attempts.create("cart", 1);
    expect(await attempts.markSent(attempt, "content")).toEqual({ sentAtMs: undefined, sends: 1 });
    clock.nowMs += 5;
    expect(await attempts.markSent(attempt, "content")).toEqual({ sentAtMs: 40 * dayMs, sends: 2 });
    expect(await attempts.markSent(attempt)).toEqual({ sentAtMs: 40 * dayMs, sends: 3 });
    await expect(attempts.markSent(attempt, "other")).rejects.toMatchObject({ code: "attempt-changed" });
    const unnamed = await attempts.create("b", 1);
    await attempts.markSent(unnamed);
    expect(await attempts.markSent(unnamed, "now named")).toMatchObject({ sends: 2 });
  });

  it("that was announced counts as sent from then on, and its first send as the first", async () => {
    const { attempts, clock } = setUp();
    const attempt = await attempts.create("cart", 1);
    await attempts.announce(attempt);
    expect(await attempts.create("cart", 1)).toMatchObject({ resumed: true });
    clock.nowMs += 5;
    await attempts.announce(attempt);
    expect(await attempts.markSent(attempt)).toEqual({ sentAtMs: undefined, sends: 1 });
    expect(await attempts.markSent(attempt)).toEqual({ sentAtMs: 40 * dayMs + 5, sends: 2 });
  });

  it("that is stored nowhere may have been sent when it was made; one that was replaced is refused", async () => {
    const { attempts } = setUp();
    const passing = { name: "gone", key: "k", bornAtMs: 7, resumed: false };
    expect(await attempts.markSent(passing)).toEqual({ sentAtMs: 7, sends: 1 });
    await attempts.announce(passing);
    const first = await attempts.create("cart", 1);
    await attempts.create("cart", 2);
    for (const call of [attempts.markSent(first), attempts.announce(first)]) {
      await expect(call).rejects.toMatchObject({
        code: "attempt-changed",
        message: 'attempt "cart" was replaced, here or in another tab. Create it again',
      });
    }
  });

  it("needs a name, a sound key, and known options", async () => {
    const { attempts } = setUp();
    for (const name of ["", 7]) {
      await expect(attempts.create(name as string, 1)).rejects.toMatchObject({
        code: "option-invalid",
        message: "option name: expected the name of the intent, got none",
      });
    }
    const warnings: string[] = [];
    const personal = setUp({ keys: () => "bob@example.com", warn: (message) => void warnings.push(message) });
    await personal.attempts.create("cart", 1);
    expect(warnings).toHaveLength(1);
    await expect(setUp({ keys: () => "" }).attempts.create("cart", 1)).rejects.toMatchObject({ code: "key-invalid" });
    const misspelt = { nowMs: Date.now, zzzzzz: 1 } as never;
    expect(() => createAttempts(misspelt)).toThrow(
      "option zzzzzz: createAttempts has no such option; it has storage, keys, nowMs, warn, rememberMs",
    );
  });

  it("has a UUID of version 7 by its own clock where no keys are given", async () => {
    const { attempts } = setUp({ keys: undefined as never });
    const { key } = await attempts.create("cart", 1);
    expect(Number.parseInt(key.replaceAll("-", "").slice(0, 12), 16)).toBe(40 * dayMs);
  });
});

describe("an attempt that was settled", () => {
  it("as done is remembered for a day, and its intent gets the same key; another content gets a new one", async () => {
    const { attempts, clock } = setUp();
    const key = await done(attempts, "cart", 1);
    clock.nowMs += dayMs - 1;
    expect(await attempts.create("cart", 1)).toMatchObject({ key, done: true, resumed: true });
    const other = await attempts.create("cart", 2);
    expect(other).toEqual({ name: "cart", key: "key-2", bornAtMs: clock.nowMs, resumed: false });
    expect(await attempts.create("cart", 1), "what was done is known beside what is not sent").toMatchObject({ key });
    clock.nowMs += 1;
    expect(await attempts.create("cart", 1)).toMatchObject({ key: "key-3", resumed: false });
  });

  it("as done is forgotten at once where nothing is to be remembered", async () => {
    const { attempts, items } = setUp({ rememberMs: 0 });
    const attempt = await attempts.create("cart", 1);
    await attempts.markSent(attempt);
    expect(await attempts.settle(attempt, "done")).toBe(true);
    expect([...items.keys()]).toEqual(["ichido:made"]);
    expect(items.get("ichido:made")).toBe("[]");
  });

  it("as done without having been sent counts from when it was made", async () => {
    const { attempts, clock } = setUp({ rememberMs: 1_000 });
    const attempt = await attempts.create("cart", 1);
    clock.nowMs += 500;
    expect(await attempts.settle(attempt, "done")).toBe(false);
    clock.nowMs += 499;
    expect(await attempts.create("cart", 1)).toMatchObject({ key: attempt.key, done: true });
    clock.nowMs += 1;
    expect((await attempts.create("cart", 1)).key).toBe("key-2");
  });

  it("as declined gives its key up; as refused keeps it, for any content", async () => {
    const { attempts, kept } = setUp();
    const declined = await attempts.create("cart", 1);
    await attempts.markSent(declined);
    expect(await attempts.settle(declined, "declined")).toBe(true);
    expect(kept("cart")).toBeNull();
    const refused = await attempts.create("cart", 1);
    await attempts.markSent(refused, "content");
    expect(await attempts.settle(refused, "refused")).toBe(false);
    expect(await attempts.create("cart", 1)).toMatchObject({ key: refused.key, resumed: false });
    expect(await attempts.markSent(refused, "corrected")).toMatchObject({ sentAtMs: undefined });
  });

  it("is not, where it was sent once more meanwhile, is done already, or is another's by now", async () => {
    const { attempts } = setUp();
    const attempt = await attempts.create("cart", 1);
    await attempts.markSent(attempt);
    await attempts.markSent(attempt);
    expect(await attempts.settle(attempt, "declined", 1)).toBe(false);
    expect(await attempts.create("cart", 1)).toMatchObject({ key: attempt.key, resumed: true });
    await attempts.settle(attempt, "done");
    expect(await attempts.settle(attempt, "declined"), "what was done stays done").toBe(false);
    expect(await attempts.create("cart", 1)).toMatchObject({ key: attempt.key, done: true });
    await attempts.startOver("cart");
    const second = await attempts.create("cart", 1);
    expect(await attempts.settle(attempt, "declined"), "its own key is gone").toBe(true);
    expect(await attempts.create("cart", 1)).toMatchObject({ key: second.key });
    const { sends } = await attempts.markSent(second);
    expect(await attempts.settle(second, "declined", sends), "that was its last send").toBe(true);
  });

  it("is so although the storage fails: the outcome is known, and must reach the caller", async () => {
    const { attempts, items } = setUp();
    const attempt = await attempts.create("cart", 1);
    items.set("ichido:attempt:cart", "{");
    expect(await attempts.settle(attempt, "done")).toBe(false);
  });

  it("of a hundred and one that are done the first is forgotten, and what is open is not", async () => {
    const { attempts, clock } = setUp();
    const first = await done(attempts, "cart-0", 0);
    for (let cart = 1; cart <= 100; cart += 1) {
      clock.nowMs += 1;
      await done(attempts, `cart-${cart}`, cart);
    }
    expect((await attempts.create("cart-0", 0)).key).not.toBe(first);
    expect(await attempts.create("cart-1", 1)).toMatchObject({ done: true });
  });
});

describe("a storage that fails", () => {
  it.each([
    ["getItem", "read"],
    ["setItem", "kept"],
  ] as const)("at %s: the attempt could not be %s, and nothing is sent", async (verb, word) => {
    const cause = new Error("full");
    const storage: AttemptStorage = { getItem: () => null, setItem: () => undefined, removeItem: () => undefined };
    const attempts = createAttempts({ storage, nowMs: Date.now });
    const attempt = await attempts.create("cart", 1);
    storage[verb] = () => {
      throw cause;
    };
    const failing = verb === "getItem" ? attempts.markSent(attempt) : attempts.create("b", 1);
    await expect(failing).rejects.toMatchObject({
      code: "storage-failed",
      message: `the attempt could not be ${word}; startOver() forgets it`,
      cause,
    });
  });
});
