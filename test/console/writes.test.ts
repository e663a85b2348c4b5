/** What people decide, and what they reveal: with a reason, for what they saw, and never without the audit. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Key, OwnerToken, Store, StoredRecord } from "ichido";
import type {
  DecideLettersAnswer,
  KeyAnswer,
  LetterView,
  OutboxAnswer,
  ProblemAnswer,
  RecordView,
  RevealAnswer,
  RevealLetterAnswer,
  WrittenAnswer,
} from "../../packages/ichido/src/console/contract.ts";
import { forEachDatabase } from "./databases.ts";
import { visit, type Visitor } from "./visitor.ts";

const reason = "ticket 4711";

forEachDatabase("writes", (bed) => {
  let visitor: Visitor;
  beforeAll(() => {
    const { ichido, outbox, inbox } = bed();
    visitor = visit(ichido, { outbox, inbox });
  });
  afterAll(() => visitor.console.close());

  async function auditOf(key: string) {
    const { store } = bed().ichido;
    const [record] = (await store.list({ key, limit: 1 })).records;
    return record === undefined ? [] : store.audit(record.identity);
  }

  async function stuck(): Promise<{ key: string; record: RecordView; at: string }> {
    const key = await bed().stuckKey();
    const record = await visitor.recordOf(key);
    return { key, record, at: `api/keys/${record.handle}` };
  }

  const seenOf = ({ record: { fence, updatedAt } }: { readonly record: RecordView }) => ({ fence, updatedAt });

  test("reveal shows key and answer as text, and is in the audit", async () => {
    const { keys, contents } = bed();
    const { handle, fence } = await visitor.recordOf(keys.paid);
    const { status, body, headers } = await visitor.post<RevealAnswer>(`api/keys/${handle}/reveal`, { reason, fence });
    expect([status, body.key]).toEqual([200, keys.paid]);
    expect(JSON.parse(body.answer?.body ?? "")).toEqual({ answer: contents[0] });
    expect(body.answer?.body).toContain("<script>");
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(await auditOf(keys.paid)).toMatchObject([{ actor: "ann", action: "reveal", reason, fence }]);
  });

  test("where the audit cannot be written, nothing is revealed", async () => {
    const { ichido, keys, outbox, inbox, contents } = bed();
    const broken = new Proxy(ichido.store, {
      get: (target, name) =>
        name === "note" ? () => Promise.reject(new Error("disk full")) : (Reflect.get(target, name, target) as unknown),
    }) as Store;
    const unaudited = visit({ store: broken }, { outbox, inbox });
    const record = await unaudited.recordOf(keys.paid);
    const { letters } = (await unaudited.get<{ letters: LetterView[] }>("api/outbox/dead")).body;
    const answers = [
      await unaudited.post(`api/keys/${record.handle}/reveal`, { reason, fence: record.fence }),
      await unaudited.post(`api/outbox/dead/${letters[0]?.letter ?? ""}/reveal`, { reason, seen: letters[0]?.seen }),
    ];
    for (const { status, text } of answers) {
      expect(status).toBe(502);
      expect([keys.paid, ...contents].filter((each) => text.includes(each.slice(0, 40)))).toEqual([]);
    }
    const decided = await unaudited.post("api/outbox/discard", {
      reason,
      letters: [{ letter: letters[0]?.letter, seen: letters[0]?.seen }],
      count: 1,
      preview: false,
    });
    expect([decided.status, (await outbox.dead.list()).letters.length]).toEqual([502, letters.length]);
    unaudited.console.close();
  });

  test("adopt gives callers the answer, release lets the next one run, hold keeps all away", async () => {
    const adopted = await stuck();
    const answer = { status: 201, headers: { Location: "/payments/9" }, body: '{"id":"ch_9"}' };
    const adopt = { reason, ...seenOf(adopted), decision: "adopt", answer };
    const done = await visitor.post<WrittenAnswer>(`${adopted.at}/settle`, adopt);
    expect(done.body).toMatchObject({ done: "adopt", record: { state: "completed", status: 201 } });
    expect(await auditOf(adopted.key)).toMatchObject([{ actor: "ann", action: "adopt", reason }]);

    const held = await stuck();
    const hold = { reason, ...seenOf(held), decision: "hold" };
    expect((await visitor.post<WrittenAnswer>(`${held.at}/settle`, hold)).body.record?.holdReason).toBe(reason);

    const released = await stuck();
    const release = { reason, ...seenOf(released), decision: "release" };
    expect((await visitor.post<WrittenAnswer>(`${released.at}/settle`, release)).body.record?.state).toBe("failed");
  });

  test("a release is refused where the provider did it, or where nobody could be asked", async () => {
    const { record, at } = await stuck();
    const release = { reason, ...seenOf({ record }), decision: "release" };
    bed().charges = [{ id: "ch_1", amount: 42 }];
    const done = await visitor.post<ProblemAnswer>(`${at}/settle`, release);
    expect([done.status, done.body.code, done.body.message]).toEqual([409, "refused", expect.stringContaining("ch_1")]);
    // No word of a person stands against the provider's.
    const ticked = await visitor.post<ProblemAnswer>(`${at}/settle`, { ...release, checkedProvider: true });
    expect([ticked.status, ticked.body.code]).toEqual([409, "refused"]);
    bed().charges = [];
    const blind = visit({ store: bed().ichido.store });
    const other = await blind.recordOf((await stuck()).key);
    const seen = seenOf({ record: other });
    const unasked = await blind.post<ProblemAnswer>(`api/keys/${other.handle}/settle`, { ...release, ...seen });
    expect([unasked.status, unasked.body.code]).toEqual([409, "unchecked"]);
    const looked = { ...release, ...seen, checkedProvider: true };
    expect((await blind.post(`api/keys/${other.handle}/settle`, looked)).status).toBe(200);
    blind.console.close();
  });

  test("what changed since it was seen is refused, with what it is now", async () => {
    const { record, at } = await stuck();
    const release = { reason, ...seenOf({ record }), decision: "release", checkedProvider: true };
    expect((await visitor.post(`${at}/settle`, release)).status).toBe(200);
    for (const [path, more] of [
      ["settle", { decision: "hold" }],
      ["forget", {}],
      ["reveal", {}],
    ] as const) {
      const { status, body } = await visitor.post<ProblemAnswer>(`${at}/${path}`, {
        reason,
        fence: record.fence,
        ...more,
      });
      expect([path, status, body.code, body.record?.state]).toEqual([path, 409, "changed", "failed"]);
    }
  });

  test("a hold that nobody on a page saw is not undone there, nor made twice", async () => {
    const { key, record, at } = await stuck();
    const seen = seenOf({ record });
    const annHolds = { reason: "do not touch", ...seen, decision: "hold" };
    expect((await visitor.post(`${at}/settle`, annHolds)).status).toBe(200);
    const release = { decision: "release", checkedProvider: true };
    for (const stale of [{ reason, ...seen, ...release }, { reason, fence: record.fence, ...release }, annHolds]) {
      const { status, body } = await visitor.post<ProblemAnswer>(`${at}/settle`, stale);
      expect([status, body.code, body.record?.holdReason]).toEqual([409, "changed", "do not touch"]);
    }
    const now = await visitor.recordOf(key);
    expect((await visitor.post(`${at}/settle`, { reason, ...seenOf({ record: now }), ...release })).status).toBe(200);
  });

  test("a running attempt and an answer are not settled; what is in doubt is not forgotten", async () => {
    const { running, paid } = bed().keys;
    for (const [key, word] of [
      [running, /at work/],
      [paid, /has its answer/],
    ] as const) {
      const { handle, fence } = await visitor.recordOf(key);
      const hold = { reason, fence, decision: "hold" };
      const { status, body } = await visitor.post<ProblemAnswer>(`api/keys/${handle}/settle`, hold);
      expect([status, body.code, body.message]).toEqual([409, "refused", expect.stringMatching(word)]);
    }
    const { record, at } = await stuck();
    const { body } = await visitor.post<ProblemAnswer>(`${at}/forget`, { reason, fence: record.fence });
    expect([body.code, body.message]).toEqual(["refused", expect.stringMatching(/settle it first/)]);
  });

  /** Whoever took over what its owner had left open is at work on it. */
  async function lookedIntoKey(): Promise<string> {
    const { ichido } = bed();
    const [record] = (await ichido.store.list({ key: await bed().stuckKey(), limit: 1 })).records as [StoredRecord];
    const key = `looked-into-${crypto.randomUUID()}` as Key;
    const identity = { ...record.identity, key };
    const terms = { identity, fingerprint: record.fingerprint, leaseMs: 60_000, retentionMs: 600_000 };
    const owners = [crypto.randomUUID(), crypto.randomUUID()].map((id) => id.replaceAll("-", "") as OwnerToken);
    for (const owner of owners) {
      const claimed = await ichido.store.claim({ ...terms, owner, takeover: "open" });
      if (claimed.outcome !== "granted") throw new Error(claimed.outcome);
      const interim = { kind: "full", status: 202, headers: [], body: new Uint8Array() } as const;
      if (owner === owners[0]) await ichido.store.suspend({ identity, owner, fence: claimed.fence, interim });
    }
    return key;
  }

  async function failedKey(): Promise<string> {
    const { key, record, at } = await stuck();
    const release = { reason, ...seenOf({ record }), decision: "release", checkedProvider: true };
    expect((await visitor.post(`${at}/settle`, release)).status).toBe(200);
    return key;
  }

  async function forgottenKey(): Promise<string> {
    const key = await bed().paidKey();
    const { handle, fence } = await visitor.recordOf(key);
    expect((await visitor.post(`api/keys/${handle}/forget`, { reason, fence })).status).toBe(200);
    return key;
  }

  test.each([
    ["paid", () => bed().paidKey(), { settle: false, forget: true }],
    ["running", async () => bed().keys.running, { settle: false, forget: false }],
    ["in doubt", () => bed().stuckKey(), { settle: true, forget: false }],
    ["in doubt, with somebody at work on it", lookedIntoKey, { settle: false, forget: false }],
    ["failed", failedKey, { settle: true, forget: true }],
    ["forgotten", forgottenKey, { settle: false, forget: false }],
  ] as const)("what is offered for a record that is %s is what the store takes", async (_, made, offered) => {
    for (const verb of ["settle", "forget"] as const) {
      const record = await visitor.recordOf(await made());
      const at = `api/keys/${record.handle}`;
      expect((await visitor.get<KeyAnswer>(at)).body.may).toMatchObject(offered);
      const seen = verb === "settle" ? { ...seenOf({ record }), decision: "hold" } : { fence: record.fence };
      const { status } = await visitor.post(`${at}/${verb}`, { reason, ...seen });
      expect([verb, status]).toEqual([verb, offered[verb] ? 200 : 409]);
    }
  });

  test("forget erases what a record holds, once", async () => {
    const key = await bed().paidKey();
    const { handle, fence } = await visitor.recordOf(key);
    const done = await visitor.post<WrittenAnswer>(`api/keys/${handle}/forget`, { reason, fence });
    expect(done.body).toMatchObject({ done: "forget", record: { answer: "tombstone", labels: {} } });
    const now = await visitor.recordOf(key);
    const again = await visitor.post<ProblemAnswer>(`api/keys/${handle}/forget`, { reason, fence: now.fence });
    expect([again.status, again.body.code]).toEqual([409, "refused"]);
  });

  test.each(["outbox", "inbox"] as const)(
    "letters of the %s: preview, a frozen selection, each as it was seen",
    async (side) => {
      await bed().giveUp();
      await bed().giveUp();
      const list = async () => (await visitor.get<{ letters: LetterView[] }>(`api/${side}/dead`)).body.letters;
      const letters = await list();
      expect(letters.length).toBeGreaterThanOrEqual(3);
      expect(letters[0]?.error, "what it says may quote the message").toBe("Error");
      const [first, second, third] = letters as [LetterView, LetterView, LetterView];
      const named = ({ letter, seen }: LetterView) => ({ letter, seen });
      const decide = (action: string, chosen: readonly object[], more: object = {}) =>
        visitor.post<DecideLettersAnswer>(`api/${side}/${action}`, {
          reason,
          letters: chosen,
          count: chosen.length,
          preview: false,
          ...more,
        });

      expect((await decide("replay", [named(first)], { count: 2 })).status).toBe(400);
      expect((await decide("replay", [named(first), named(first)])).status).toBe(400);
      expect((await decide("replay", [])).status).toBe(400);
      const seenOld = { letter: second.letter, seen: "0123456789abcdef" };
      const preview = await decide("discard", [named(first), seenOld, { letter: "999999", seen: "x" }], {
        preview: true,
      });
      expect(preview.body).toMatchObject({
        preview: true,
        done: 1,
        results: [{ result: "ok" }, { result: "changed" }, { result: "absent" }],
      });
      expect(await list()).toHaveLength(letters.length);

      const done = await decide("discard", [named(first), seenOld]);
      expect(done.body.results.map(({ result }) => result)).toEqual(["ok", "changed"]);
      expect((await list()).map(({ letter }) => letter)).not.toContain(first.letter);
      const twice = await decide("discard", [named(first)]);
      expect(twice.body.results[0]?.result).toBe("absent");
      const audit = (await visitor.get<{ audit: unknown[] }>(`api/${side}/dead/${first.letter}`)).body.audit;
      expect(audit).toMatchObject([{ actor: "ann", action: "discard", reason }]);

      const shown = await visitor.post<RevealLetterAnswer>(`api/${side}/dead/${third.letter}/reveal`, {
        reason,
        seen: third.seen,
      });
      expect(JSON.parse(shown.body.payload)).toEqual({ payload: bed().contents[1] });
      const old = await visitor.post<ProblemAnswer>(`api/${side}/dead/${third.letter}/reveal`, { reason, seen: "old" });
      expect([old.status, old.body.code, old.body.letter?.letter]).toEqual([409, "changed", third.letter]);

      const replayed = await decide("replay", [named(second)]);
      expect(replayed.body.done).toBe(1);
      const log = (await bed().ichido.store.auditLog({ limit: 1_000 })).entries.map(
        ({ action, reason: text }) => `${action}: ${text}`,
      );
      expect(log).toContain(`discard: ${reason} (2 of the ${side})`);
      expect(log.some((entry) => entry.startsWith(`reveal: ${reason} (${side} order.paid`))).toBe(true);
    },
  );

  test("pause and resume: who saw another state is refused", async () => {
    const seen = async () => (await visitor.get<OutboxAnswer>("api/outbox")).body.seen;
    const before = await seen();
    const paused = await visitor.post("api/outbox/pause", { reason, seen: before });
    expect(paused.body).toMatchObject({ done: "ok", paused: { actor: "ann", reason } });
    expect((await visitor.post("api/outbox/pause", { reason, seen: before })).status).toBe(409);
    const during = await seen();
    expect((await visitor.post("api/outbox/resume", { reason, seen: during })).body).toEqual({ done: "ok" });
    // The switch is as it was before: neither decision is about what is there now.
    const again = [await visitor.post("api/outbox/pause", { reason, seen: before })];
    expect((await visitor.post("api/outbox/pause", { reason, seen: await seen() })).status).toBe(200);
    again.push(await visitor.post("api/outbox/resume", { reason, seen: during }));
    expect(again).toMatchObject([
      { status: 409, body: { code: "changed" } },
      { status: 409, body: { code: "changed" } },
    ]);
    expect((await visitor.post("api/outbox/resume", { reason, seen: await seen() })).status).toBe(200);
  });

  test("a console without outbox and inbox says so", async () => {
    const { ichido } = bed();
    const bare = visit(ichido);
    for (const path of ["api/outbox", "api/inbox", "api/outbox/dead", "api/inbox/dead/x"])
      expect((await bare.get(path)).body).toMatchObject({ code: "no-part" });
    bare.console.close();
  });
});
