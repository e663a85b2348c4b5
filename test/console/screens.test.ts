/** What each screen is told, on a database with something of everything. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type {
  AskAnswer,
  AuditAnswer,
  DoctorAnswer,
  InboxAnswer,
  KeyAnswer,
  KeysAnswer,
  LetterAnswer,
  LettersAnswer,
  OutboxAnswer,
  ProbesAnswer,
  SessionAnswer,
  StorageAnswer,
  TrafficAnswer,
  UnknownAnswer,
} from "../../packages/ichido/src/console/contract.ts";
import { forEachDatabase } from "./databases.ts";
import { visit, type Visitor } from "./visitor.ts";

forEachDatabase("screens", (bed) => {
  let visitor: Visitor;
  beforeAll(() => {
    const { ichido, outbox, inbox } = bed();
    visitor = visit(ichido, { outbox, inbox, environmentName: "production" });
  });
  afterAll(() => visitor.console.close());

  async function look<Value>(path: string): Promise<Value> {
    const { status, body, text } = await visitor.get<Value>(path);
    expect([status, text]).toEqual([200, text]);
    return body;
  }

  test("session: who asks, and what the console is on", async () => {
    const session = await look<SessionAnswer>("api/session");
    expect(session).toMatchObject({
      user: "ann",
      readOnly: false,
      environment: "production",
      store: { ok: true, durable: true },
      parts: { outbox: true, inbox: true, probes: ["bank.charge"], attemptLog: true },
      links: "sealed",
      unknown: 2,
    });
  });

  test("ask: whatever the ticket has leads to the verdict of why, with handles that lead to the records", async () => {
    const { paid, stuck } = bed().keys;
    const verdict = await look<AskAnswer>(`api/ask?text=${paid}`);
    expect(verdict.verdict).toBe("two-keys-one-intent");
    expect(verdict.keys.map(({ runs, replays }) => [runs, replays])).toEqual([
      [1, 1],
      [1, 0],
    ]);
    for (const { handle, id } of verdict.keys) {
      expect((await look<KeyAnswer>(`api/keys/${handle}`)).record.id).toBe(id);
    }
    expect(verdict.markdown).toContain("two-keys-one-intent");
    expect((await look<AskAnswer>("api/ask?text=customer%3D42")).understood).toEqual(["label customer"]);
    expect((await look<AskAnswer>(`api/ask?text=${stuck}`)).verdict).toBe("not-known");
    expect((await look<AskAnswer>("api/ask?text=nothing-of-ours")).verdict).toBe("nothing-found");
  });

  test("keys: filters narrow, pages go on by cursor, ages are filtered", async () => {
    expect((await look<KeysAnswer>("api/keys")).records).toHaveLength(6);
    const unknown = await look<KeysAnswer>("api/keys?state=unknown&operation=payment.create&tenant=acme");
    expect(unknown.records.map(({ state }) => state)).toEqual(["unknown", "unknown"]);
    const labelled = await look<KeysAnswer>("api/keys?label=customer%3D42&state=completed");
    expect(labelled.records).toHaveLength(2);
    const made = await look<KeysAnswer>(`api/keys?resource=payment%3Dpay_${bed().keys.paid.slice(-6)}`);
    expect(made.records).toHaveLength(1);
    expect((await look<KeysAnswer>("api/keys?tenant=nobody")).records).toEqual([]);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await look<KeysAnswer>(`api/keys?limit=2${cursor === undefined ? "" : `&cursor=${cursor}`}`);
      seen.push(...page.records.map(({ id }) => id));
      ({ cursor } = page);
    } while (cursor !== undefined);
    expect(new Set(seen).size).toBe(6);
    expect((await look<KeysAnswer>("api/keys?newerThanMs=3600000")).records).toHaveLength(6);
    const old = await look<KeysAnswer>("api/keys?olderThanMs=3600000");
    expect([old.records, old.searched, old.isCut]).toEqual([[], 6, false]);
  });

  test("key: steps, attempts, twins, resources and audit of one record", async () => {
    const { handle } = await visitor.recordOf(bed().keys.paid);
    const paid = await look<KeyAnswer>(`api/keys/${handle}`);
    expect(paid).toMatchObject({
      record: { state: "completed", handle },
      caller: "acme/cus_42",
      attempts: [{ outcome: "executed" }, { outcome: "replayed" }],
      resources: [{ kind: "payment" }],
      twins: [{ isFirst: true }],
      answer: { kind: "full" },
      link: `https://ops.example/console/#/keys/${handle}`,
      may: { settle: false, forget: true, reveal: true },
    });
    expect((await look<KeyAnswer>(`api/keys/${paid.twins[0]?.other.handle ?? ""}`)).twins[0]?.isFirst).toBe(false);
    const stuck = await look<KeyAnswer>(`api/keys/${(await visitor.recordOf(bed().keys.stuck)).handle}`);
    expect(stuck).toMatchObject({ steps: [{ name: "bank.charge", state: "started" }], may: { settle: true } });
    const leases = [paid.record, stuck.record, await visitor.recordOf(bed().keys.running)].map(
      ({ lease }) => lease?.is,
    );
    expect(leases).toEqual([undefined, "ended", "live"]);
    expect((await visitor.get(`api/keys/${handle.slice(0, -2)}`)).status).toBe(404);
    expect((await visitor.get("api/keys/nonsense")).status).toBe(404);
  });

  test("probes: what the provider says now", async () => {
    const { handle } = await visitor.recordOf(bed().keys.stuck);
    bed().charges = [{ id: "ch_1", amount: 42 }];
    const done = await look<ProbesAnswer>(`api/keys/${handle}/probes`);
    expect(done).toMatchObject({
      probes: [{ step: "bank.charge", effects: [{ id: "ch_1", amount: 42 }] }],
      effects: { count: 1, by: "provider" },
    });
    bed().charges = [];
    expect((await look<ProbesAnswer>(`api/keys/${handle}/probes`)).effects.count).toBe(0);
  });

  test("unknown: open outcomes, the oldest first", async () => {
    const { records, isCut } = await look<UnknownAnswer>("api/unknown");
    expect([records.map(({ createdAt }) => createdAt), isCut]).toEqual([
      records.map(({ createdAt }) => createdAt).toSorted(),
      false,
    ]);
    expect(records).toHaveLength(2);
  });

  test("outbox and inbox: what was given up, with its error's first line and no payload", async () => {
    expect((await look<OutboxAnswer>("api/outbox")).stats.dead).toBe(1);
    expect((await look<InboxAnswer>("api/inbox")).stats.dead).toBe(1);
    for (const side of ["outbox", "inbox"]) {
      const { letters } = await look<LettersAnswer>(`api/${side}/dead?topic=order.paid`);
      const [letter] = letters;
      expect(letter).toMatchObject({ topic: "order.paid", state: "dead" });
      expect((await look<LetterAnswer>(`api/${side}/dead/${letter?.letter ?? ""}`)).letter).toEqual(letter);
      expect((await look<LettersAnswer>(`api/${side}/dead?topic=nothing`)).letters).toEqual([]);
      expect((await visitor.get(`api/${side}/dead/999`)).status).toBe(404);
    }
  });

  test("storage and traffic: numbers that say who counted them and since when", async () => {
    const storage = await look<StorageAnswer>("api/storage");
    expect(storage.counted.by).toBe("store");
    expect(storage.samples.at(-1)).toMatchObject({ records: 6, unknown: 2, completed: 2, failed: 1, processing: 1 });
    const traffic = await look<TrafficAnswer>("api/traffic");
    expect(traffic.series.map(({ counted }) => counted.by)).toEqual(["process", "log"]);
    const [own, log] = traffic.series.map(({ minutes }) => minutes.reduce((sum, { replayed }) => sum + replayed, 0));
    expect([own, log]).toEqual([0, 1]);
    expect(traffic.suspectedDuplicates.pairs).toHaveLength(1);
    await bed().paidKey();
    const again = await look<TrafficAnswer>("api/traffic");
    expect(again.series[0]?.minutes.reduce((sum, { executed }) => sum + executed, 0)).toBe(1);
  });

  test("runs that left their outcome open are told as such, and counted as unknown, not as new", async () => {
    const { handle } = await visitor.recordOf(bed().keys.stuck);
    const { attempts } = await look<KeyAnswer>(`api/keys/${handle}`);
    expect(attempts).toMatchObject([{ outcome: "executed", leftOpen: true }]);
    const paid = await look<KeyAnswer>(`api/keys/${(await visitor.recordOf(bed().keys.paid)).handle}`);
    expect(paid.attempts.some(({ leftOpen }) => leftOpen)).toBe(false);
    const verdict = await look<AskAnswer>(`api/ask?text=${bed().keys.stuck}`);
    const runs = verdict.timeline.filter(({ facts }) => facts?.outcome === "executed");
    expect(runs).toMatchObject([{ facts: { leftOpen: true } }]);
    const sums = async () =>
      (await look<TrafficAnswer>("api/traffic")).series.map(({ minutes }) => [
        minutes.reduce((sum, { executed }) => sum + executed, 0),
        minutes.reduce((sum, { unknown }) => sum + unknown, 0),
      ]);
    const [own, log] = await sums();
    expect(log?.[1]).toBe(2);
    await bed().stuckKey();
    expect((await sums())[0]).toEqual([own?.[0], (own?.[1] ?? 0) + 1]);
  });

  test("doctor and audit", async () => {
    const doctor = await look<DoctorAnswer>("api/doctor");
    expect(doctor.findings.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(doctor.server).toMatch(/SQLite|PostgreSQL/);
    for (const reason of ["one", "two", "three"])
      await bed().ichido.store.note({ actor: "ann", action: "look", reason });
    const first = await look<AuditAnswer>("api/audit?limit=2");
    expect(first.entries.map(({ reason }) => reason)).toEqual(["three", "two"]);
    const next = await look<AuditAnswer>(`api/audit?limit=2&newerThanMs=315360000000&cursor=${first.cursor ?? ""}`);
    expect([next.entries.map(({ reason }) => reason)[0], next.cursor]).toEqual(["one", undefined]);
    expect((await visitor.get("api/audit?cursor=nonsense")).status).toBe(400);
  });

  test("live: requests of all processes as they come, resumed by the last id, ended when nobody listens", async () => {
    const listen = (headers: Record<string, string> = {}): Promise<Response> =>
      visitor.console.fetch(new Request("http://console.test/console/api/live", { headers }));
    const until = async (response: Response, isSo: (text: string) => boolean): Promise<string> => {
      let text = "";
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      while (!isSo(text)) text += (await reader?.read())?.value ?? "";
      await reader?.cancel();
      return text;
    };
    const first = await listen();
    expect(first.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    // What compresses or gathers answers would keep events back.
    expect(first.headers.get("cache-control")).toBe("no-store, no-transform");
    expect(first.headers.get("x-accel-buffering")).toBe("no");
    const paying = (async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return bed().paidKey();
    })();
    const text = await until(first, (all) => all.includes("\nid: ") || /^id: /m.test(all));
    expect(text).toContain('"type":"hello","source":"log"');
    expect(text).toContain('"outcome":"executed"');
    const key = await paying;
    expect(text).not.toContain(key);
    const [, id = ""] = /^id: (.+)$/m.exec(text) ?? [];
    await bed().paidKey();
    const more = await until(await listen({ "last-event-id": id }), (all) => all.includes("event: attempt"));
    expect(more).toContain('"outcome":"executed"');
    expect((await visitor.get("api/live?cursor=nonsense")).status).toBe(400);
  }, 20_000);
});
