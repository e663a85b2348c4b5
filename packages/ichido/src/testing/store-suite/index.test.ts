import { describe, expect, it } from "vitest";
import type { Store } from "../../core/contract/store.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import { fakeClock } from "../clock.ts";
import { storeCases, storeSuite, type StoreSubject, type SuiteIt } from "./index.ts";

type Registered = Map<string, () => Promise<void>>;

function register(subject: StoreSubject): { ran: Registered; skipped: Registered } {
  const ran: Registered = new Map();
  const skipped: Registered = new Map();
  const run = (name: string, body: () => Promise<void>): unknown => ran.set(name, body);
  const skip = (name: string, body: () => Promise<void>): unknown => skipped.set(name, body);
  const suiteIt: SuiteIt = Object.assign(run, { skip });
  storeSuite({ describe: (_name, body) => body(), it: suiteIt }, subject);
  return { ran, skipped };
}

/** The memory store with one verb changed. */
function subjectOf(change: (store: Store) => Partial<Store> = () => ({})): StoreSubject {
  return {
    name: "subject",
    movesClock: true,
    watches: true,
    async open() {
      const clock = fakeClock();
      const store = memoryStore({ nowMs: clock.nowMs });
      const changed: Store = { ...store, ...change(store) };
      return { store: changed, clock: { advanceMs: (ms) => clock.stepWall(ms) }, close: () => store.close() };
    },
  };
}

async function failures(subject: StoreSubject): Promise<string[]> {
  const failed: string[] = [];
  for (const [title, body] of register(subject).ran) {
    await body().catch(() => failed.push(title.split(" ")[0] ?? title));
  }
  return [...new Set(failed)];
}

describe("store suite", () => {
  const { movesClock: _movesClock, watches: _watches, ...bare } = subjectOf();

  it("has one id and one title for every case, and every title begins with its guarantee", () => {
    expect(new Set(storeCases.map((each) => each.id)).size).toBe(storeCases.length);
    expect(new Set(storeCases.map((each) => each.title)).size).toBe(storeCases.length);
    for (const { id, title } of storeCases) expect(title.split(" ")[0], id).toBe(id.split("-")[0]);
  });

  it("tries every guarantee of the contract but the bound, which is each store's own", () => {
    const tried = new Set(storeCases.map((each) => each.title.split(" ")[0]));
    const all = Array.from({ length: 19 }, (_, index) => `S${index + 1}`).filter((id) => id !== "S14");
    expect(all.filter((id) => !tried.has(id))).toEqual([]);
  });

  it("skips by name, with the reason in the title", () => {
    const { ran, skipped } = register({ ...bare, skip: { "S1-race": "a reason" } });
    expect(ran.size + skipped.size).toBe(storeCases.length);
    expect([...skipped.keys()].filter((title) => title.endsWith("[skipped: a reason]"))).toHaveLength(1);
    const needing = storeCases.filter((each) => each.needs !== undefined).length;
    expect(skipped.size).toBe(needing + 1);
  });

  it("refuses a skip of a case that does not exist", () => {
    expect(() => register({ ...subjectOf(), skip: { "S99-gone": "old" } })).toThrow(/S99-gone/);
  });

  it("S5 lives as many random histories as the subject asks, eight by default", async () => {
    async function storiesOf(histories?: number): Promise<number> {
      const lived = new Set<string>();
      const noting = subjectOf((store) => ({
        claim: (request) => (lived.add(request.identity.key.replace(/^.*-/, "")), store.claim(request)),
      }));
      const subject = { ...noting, ...(histories !== undefined && { histories }) };
      const [, body] = [...register(subject).ran].find(([title]) => title.includes("random histories")) ?? [];
      await body?.();
      return lived.size;
    }
    expect(await storiesOf()).toBe(8);
    expect(await storiesOf(2)).toBe(2);
    expect(await storiesOf(9)).toBe(9);
    for (const wrong of [0, 1.5, Number.NaN]) {
      expect(() => register({ ...subjectOf(), histories: wrong })).toThrow(`subject.histories: expected an integer`);
    }
  });

  it("fails rather than skip unnoticed when a subject has a clock or a watch that it does not declare", async () => {
    const { movesClock: _clock, ...undeclared } = subjectOf();
    const [body] = register(undeclared).ran.values();
    await expect(body?.()).rejects.toThrow(/movesClock/);
    const { watches: _watches, ...unwatched } = subjectOf();
    const [other] = register(unwatched).ran.values();
    await expect(other?.()).rejects.toThrow(/watches/);
  });

  const broken: Readonly<Record<string, readonly [expected: string, change: (store: Store) => Partial<Store>]>> = {
    "grants every claim a fence of its own": [
      "S2",
      (store) => ({
        async claim(request) {
          const result = await store.claim(request);
          return result.outcome === "granted" && result.resent === true
            ? { ...result, fence: result.fence + 1 }
            : result;
        },
      }),
    ],
    "forgets that a takeover whose reply was lost is one": [
      "S2",
      (store) => ({
        async claim(request) {
          const result = await store.claim(request);
          return result.outcome === "granted" && result.resent === true ? { ...result, origin: "new" } : result;
        },
      }),
    ],
    "lets a policy end a person's hold": [
      "S16",
      (store) => ({ settle: ({ unlessHeld: _policy, ...request }) => store.settle(request) }),
    ],
    "lets a doubt end by retention": [
      "S11",
      (store) => ({ claim: ({ doubtStays: _stays, ...request }) => store.claim(request) }),
    ],
    "lets a zombie complete": [
      "S5",
      (store) => ({ complete: async (request) => (await store.complete(request), "ok") }),
    ],
    "answers renewals in another order": [
      "S5",
      (store) => ({ renew: async (requests) => (await store.renew(requests)).toReversed() }),
    ],
    "trusts any clock": [
      "S10",
      (store) => ({ tick: async (request) => (await store.tick(request), { trusted: true }) }),
    ],
    "sweeps more than asked": [
      "S12",
      (store) => ({ sweep: (request) => store.sweep({ ...request, limit: request.limit * 2 }) }),
    ],
    "gives a body back as text": [
      "S13",
      (store) => ({
        async claim(request) {
          const result = await store.claim(request);
          if (result.outcome !== "completed") return result;
          const body = new TextEncoder().encode(new TextDecoder().decode(result.response.body));
          return { ...result, response: { ...result.response, body } };
        },
      }),
    ],
    "forgets its audit": ["S16", () => ({ audit: async () => [] })],
    "lists bodies": [
      "S17",
      (store) => ({
        async list(query) {
          const page = await store.list(query);
          const records = await Promise.all(page.records.map((record) => store.find(record.identity)));
          return { ...page, records: records.filter((record) => record !== undefined) };
        },
      }),
    ],
  };
  for (const [what, [expected, change]] of Object.entries(broken)) {
    it(`catches a store that ${what}`, async () => {
      expect(await failures(subjectOf(change))).toContain(expected);
    });
  }

  it("passes the reference", async () => {
    expect(await failures(subjectOf())).toEqual([]);
  });
});
