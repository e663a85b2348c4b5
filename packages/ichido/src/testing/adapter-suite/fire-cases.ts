/** A: acceptance under fire. Each of these was a real failure of a published library. */
import assert from "node:assert/strict";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { defineCase, type AdapterCase } from "./case.ts";
import { eventually, requestText, sendRaw, type Ask, type Reply } from "./client.ts";
import { skewed } from "./expiry-cases.ts";
import { askUntilSettled } from "./failure-cases.ts";
import { allVerbs, faultyStore } from "./faulty-store.ts";
import { sampleBytes } from "./plan.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey, type App, type Rig } from "./rig.ts";

async function runs(app: App, options: Ask, times: number): Promise<void> {
  const before = app.effects();
  for (let index = 0; index < times; index += 1) assertExecuted(await app.ask(options), options.plan?.status ?? 201);
  assert.equal(app.effects() - before, times);
}

/** Runs once, then replays. */
async function keeps(app: App, options: Ask): Promise<Reply> {
  const before = app.effects();
  const first = assertExecuted(await app.ask(options), options.plan?.status ?? 201);
  assertReplayed(await app.ask(options), first);
  assert.equal(app.effects() - before, 1);
  return first;
}

/** Eight at once for each of 200 keys, over two servers. */
export async function storm(
  ask: (server: number, options: Ask) => Promise<Reply>,
  keys: number,
): Promise<{ readonly executed: number; readonly others: readonly number[] }> {
  let executed = 0;
  const others: number[] = [];
  const agent = new Agent({ keepAlive: true });
  const oneKey = async (): Promise<void> => {
    const key = freshKey();
    const replies = await Promise.all(Array.from({ length: 8 }, (_, index) => ask(index % 2, { key, agent })));
    for (const reply of replies) {
      if (reply.status === 201 && reply.header("idempotency-replayed") === undefined) executed += 1;
      else others.push(reply.status);
    }
  };
  const perWave = 10;
  for (let wave = 0; wave < keys / perWave; wave += 1) await Promise.all(Array.from({ length: perWave }, oneKey));
  agent.destroy();
  return { executed, others };
}

async function dropped(app: App, options: Ask, gate: string): Promise<void> {
  const socket = await sendRaw(app.port, requestText({ ...options, plan: { ...options.plan, gate } }));
  await app.gates.reached(gate);
  socket.destroy();
}

/** Ways whose answer is not replayed: live streams, and what is no answer of its own. */
const notReplayed: readonly string[] = ["hints", "events", "flush"];

const releasing = [401, 403, 408, 412, 413, 415, 425, 428, 429];

async function expiredKeys(rig: Rig, app: App, count: number): Promise<readonly string[]> {
  const keys = Array.from({ length: count }, freshKey);
  await Promise.all(keys.map(async (key) => assertExecuted(await app.ask({ key }))));
  await eventually("all keys expire", async () => (await rig.store.stats()).sweepLagMs > 0);
  return keys;
}

export const fireCases: readonly AdapterCase[] = [
  defineCase(
    "A01",
    "200 keys, eight requests at once each, over two servers: every effect happens once",
    async (rig) => {
      const apps = [await rig.start(), await rig.start({ store: rig.second })] as const;
      const { executed, others } = await storm((server, options) => (apps[server] ?? apps[0]).ask(options), 200);
      assert.equal(executed, 200);
      assert.equal(apps[0].effects() + apps[1].effects(), 200);
      assert.equal(others.length, 1_400);
      assert.deepEqual(
        [...new Set(others)].filter((status) => status !== 201 && status !== 409),
        [],
      );
    },
  ),
  defineCase("A02", "a client that drops mid-handler and retries at once does not run it twice", async (rig) => {
    const app = await rig.start();
    for (const way of ["send", ...rig.subject.ways.filter((each) => ["write", "chunks"].includes(each))]) {
      const options: Ask = { key: freshKey(), plan: { way } };
      const before = app.effects();
      await dropped(app, options, `a02 ${way}`);
      const retries = await Promise.all([app.ask(options), app.ask(options)]);
      for (const reply of retries) assertRefused(reply, 409, "idempotency-in-flight");
      app.gates.open(`a02 ${way}`);
      const reply = await askUntilSettled(app, options);
      assert.equal(reply.header("idempotency-replayed"), "true");
      assert.equal(app.effects() - before, 1);
    }
  }),
  defineCase(
    "A02 storm",
    "clients that drop at any moment and retry, in every way of writing: one effect each, nothing stuck",
    async (rig) => {
      const app = await rig.start({ engine: { onUnknown: "hold" } });
      const ways = ["send", ...rig.subject.ways.filter((way) => !notReplayed.includes(way) && way !== "void")];
      // Fixed choices that look like chance: the same drops in every run, at other moments of the handler each time.
      const chance = sampleBytes(10_000, 2);
      let draws = 0;
      const draw = (below: number): number => {
        draws += 1;
        return ((chance[draws % chance.length] ?? 0) * below) >> 8;
      };
      const oneKey = async (_: unknown, index: number): Promise<void> => {
        const way = ways[index % ways.length] ?? "send";
        const options: Ask = { key: freshKey(), plan: { way, sleepMs: draw(12), content: { text: draw(2) * 30_000 } } };
        const text = requestText(options);
        for (let attempt = 0; attempt < 3; attempt += 1) {
          // One in four is cut off inside its own request.
          const socket = await sendRaw(app.port, draw(4) === 0 ? text.slice(0, -5) : text);
          await sleep(draw(16));
          socket.destroy();
        }
        const reply = await askUntilSettled(app, options);
        assert.equal(reply.status, 201, `${way}: ${reply.body.toString().slice(0, 200)}`);
        assertReplayed(await app.ask(options), reply);
      };
      const keys = 60;
      for (let wave = 0; wave < keys / 10; wave += 1) {
        await Promise.all(Array.from({ length: 10 }, (_, index) => oneKey(_, wave * 10 + index)));
      }
      const stats = await rig.store.stats();
      assert.deepEqual([app.effects(), stats.completed, stats.processing], [keys, keys, 0]);
    },
  ),
  defineCase("A03", "a client that dropped gets the stored answer later; no key stays unfinished", async (rig) => {
    const app = await rig.start();
    const options: Ask = { key: freshKey() };
    await dropped(app, options, "a03");
    app.gates.open("a03");
    await eventually("the answer to be recorded", async () => (await rig.store.stats()).completed === 1);
    const reply = await app.ask(options);
    assert.deepEqual([reply.status, reply.header("idempotency-replayed")], [201, "true"]);
    assert.deepEqual([app.effects(), (await rig.store.stats()).processing], [1, 0]);
  }),
  defineCase("A05", "a claim whose reply was lost, sent again by the driver, goes on as its own", async (rig) => {
    const store = faultyStore(rig.store);
    const app = await rig.start({ store });
    store.break(["claim"], "resend", 1);
    const options: Ask = { key: freshKey() };
    const first = assertExecuted(await app.ask(options));
    assertReplayed(await app.ask(options), first);
    // The same for the completion: it was applied, and is applied again.
    store.break(["complete"], "resend", 1);
    await keeps(app, { key: freshKey() });
    assert.equal(app.effects(), 2);
  }),
  defineCase(
    "A08",
    "two principals never see each other's answer; a rotated token is the same principal",
    async (rig) => {
      const app = await rig.start();
      const key = freshKey();
      const alice = assertExecuted(await app.ask({ key, token: "alice-1" }));
      const bob = assertExecuted(await app.ask({ key, token: "bob-1" }));
      assert.notEqual(alice.body.toString(), bob.body.toString());
      assertReplayed(await app.ask({ key, token: "alice-2" }), alice);
      assertReplayed(await app.ask({ key, token: "bob-1" }), bob);
      assert.equal(app.effects(), 2);
    },
  ),
  defineCase(
    "A09",
    "another operation is independent, overlapping too; another target of the same is a mismatch",
    async (rig) => {
      const app = await rig.start();
      const key = freshKey();
      const running = app.ask({ to: "create/1", key, plan: { gate: "a09" } });
      await app.gates.reached("a09");
      assertExecuted(await app.ask({ to: "second/1", key }));
      assertRefused(await app.ask({ to: "create/2", key }), 422, "idempotency-key-reused");
      app.gates.open("a09");
      const first = assertExecuted(await running);
      assertRefused(await app.ask({ to: "create/2", key }), 422, "idempotency-key-reused");
      assertReplayed(await app.ask({ to: "create/1", key }), first);
      assert.equal(app.effects(), 2);
    },
  ),
  defineCase(
    "A10",
    "own keys with identical bodies all run: two principals, and two applications on one store",
    async (rig) => {
      const app = await rig.start();
      const other = await rig.start({ store: rig.second, routes: { "of-other-app": {} } });
      await Promise.all([
        runs(app, { key: freshKey(), token: "alice-1" }, 1),
        runs(other, { to: "of-other-app", key: freshKey(), token: "bob-1" }, 1),
      ]);
      const key = freshKey();
      assertExecuted(await app.ask({ key }));
      assertExecuted(await other.ask({ to: "of-other-app", key }));
      assert.equal(app.effects() + other.effects(), 4);
    },
  ),
  defineCase("A11", "requests without a body to two resources, each with its own key, both run", async (rig) => {
    const app = await rig.start();
    const keys = [freshKey(), freshKey()];
    const first = assertExecuted(await app.ask({ to: "create/1", key: keys[0] ?? null, content: "" }));
    assertExecuted(await app.ask({ to: "create/2", key: keys[1] ?? null, content: "" }));
    assertReplayed(await app.ask({ to: "create/1", key: keys[0] ?? null, content: "" }), first);
    assert.equal(app.effects(), 2);
  }),
  ...Object.entries<readonly [Ask, Ask]>({
    "in the query": [{ to: "create?a=1" }, { to: "create?a=2" }],
    "past 1 MiB": [{ json: { text: `${"x".repeat(1_100_000)}a` } }, { json: { text: `${"x".repeat(1_100_000)}b` } }],
    "above 2^53": [{ content: '{"a":[9007199254740993]}' }, { content: '{"a":[9007199254740992]}' }],
    "in duplicate members": [{ content: '{"a":1,"a":2}' }, { content: '{"a":2}' }],
    "in a __proto__ member": [{ content: '{"a":1,"__proto__":{"x":1}}' }, { content: '{"a":1,"__proto__":{"x":2}}' }],
    "in a null": [{ content: '{"a":null}' }, { content: "{}" }],
  }).map(([where, [one, two]]) =>
    defineCase(`A13 ${where}`, "a difference there alone is a difference", async (rig) => {
      const app = await rig.start();
      const key = freshKey();
      const first = assertExecuted(await app.ask({ ...one, key }));
      assertRefused(await app.ask({ ...two, key }), 422, "idempotency-key-reused");
      assertReplayed(await app.ask({ ...one, key }), first);
      assert.equal(app.effects(), 1);
    }),
  ),
  defineCase("A13 query order", "the order of query parameters does not matter", async (rig) => {
    const app = await rig.start();
    const key = freshKey();
    const first = assertExecuted(await app.ask({ to: "create?a=1&b=2", key }));
    assertReplayed(await app.ask({ to: "create?b=2&a=1", key }), first);
  }),
  defineCase(
    "A14",
    "other content is a mismatch in flight, when completed and after a takeover; the original replays",
    async (rig) => {
      const leaseMs = 300;
      const hangs = (name: string): void | Promise<void> =>
        name === "before-renew" ? new Promise<void>(() => undefined) : undefined;
      const lost = await rig.start({ engine: { leaseMs, faults: hangs, closeMs: 10 } });
      const app = await rig.start({ store: rig.second, engine: { leaseMs } });
      const key = freshKey();
      const mismatch = async (): Promise<unknown> =>
        assertRefused(await app.ask({ key, json: { amount: 1 } }), 422, "idempotency-key-reused");
      const socket = await sendRaw(lost.port, requestText({ key, plan: { gate: "a14" } }));
      await lost.gates.reached("a14");
      await mismatch();
      await sleep(leaseMs + 100);
      await mismatch();
      const running = app.ask({ key, plan: { gate: "a14" } });
      await app.gates.reached("a14");
      await mismatch();
      app.gates.open("a14");
      const first = assertExecuted(await running);
      await mismatch();
      assertReplayed(await app.ask({ key }), first);
      socket.destroy();
    },
  ),
  defineCase("A15", "keys and targets of any length are answered as documented, never with 500", async (rig) => {
    const app = await rig.start();
    const accepted = ['"a"', "b", `"${"k".repeat(255)}"`, '"quoted string"'];
    const refused = ["", '""', `"${"k".repeat(256)}"`, "k".repeat(300), '"caf\u00e9"'];
    for (const key of accepted) await keeps(app, { key });
    for (const key of refused) assertRefused(await app.ask({ key }), 400, "idempotency-key-invalid");
    assertRefused(await app.ask({ key: ["a", "a"] }), 400, "idempotency-key-invalid");
    await keeps(app, { to: `create?q=${"x".repeat(2_000)}`, key: freshKey() });
  }),
  ...(
    [
      [500, "runs"],
      [503, "runs"],
      [429, "runs"],
      [400, "keeps"],
    ] as const
  ).map(([status, what]) =>
    defineCase(`A16 ${status}`, what === "runs" ? "lets the next attempt run" : "is kept", async (rig) => {
      const app = await rig.start();
      const options: Ask = { key: freshKey(), plan: { status } };
      if (what === "keeps") await keeps(app, options);
      else {
        await runs(app, options, 2);
        await keeps(app, { key: options.key ?? null });
      }
      assert.equal((await rig.store.stats()).processing, 0);
    }),
  ),
  defineCase("A16 thrown", "a thrown error lets the next attempt run, and nothing stays stuck", async (rig) => {
    const app = await rig.start();
    const key = freshKey();
    for (const throws of ["before", "after"] as const) assertExecuted(await app.ask({ key, plan: { throws } }), 500);
    await keeps(app, { key });
    assert.deepEqual([app.effects(), (await rig.store.stats()).processing], [2, 0]);
  }),
  defineCase(
    "A16 thrown status",
    "an error that carries a client status is answered with it, and kept",
    async (rig) => {
      const app = await rig.start();
      const options: Ask = { key: freshKey(), plan: { throws: "before", throwsStatus: 422 } };
      const first = assertExecuted(await app.ask(options), 422);
      assertReplayed(await app.ask(options), first);
    },
  ),
  ...[200, 201, 202, 303, 404, 409].map((status) =>
    defineCase(`A17 ${status}`, "from the handler is kept", async (rig) => {
      const app = await rig.start();
      await keeps(app, { key: freshKey(), plan: { status, headers: [["Location", "/x"]] } });
    }),
  ),
  defineCase("A17 released", `${releasing.join(" ")} from the handler are not kept`, async (rig) => {
    const app = await rig.start();
    for (const status of releasing) await runs(app, { key: freshKey(), plan: { status } }, 2);
  }),
  defineCase("A17 release()", "what a handler gives back is sent and not kept", async (rig) => {
    const app = await rig.start();
    const key = freshKey();
    await runs(app, { key, plan: { status: 200, release: true } }, 2);
    await keeps(app, { key });
  }),
  ...(["refuse", "lose", "hang"] as const).map((fault) =>
    defineCase(
      `A18 ${fault}`,
      "a store that fails at completion: the true answer, told as not stored, and no silent second run",
      async (rig) => {
        const store = faultyStore(rig.store);
        const app = await rig.start({ store, engine: { leaseMs: 5_000, storeTimeoutMs: 300 } });
        const options: Ask = { key: freshKey() };
        store.break(["complete"], fault, 1);
        const first = assertExecuted(await app.ask(options));
        assert.equal(first.header("idempotency-stored"), "false");
        const reply = await askUntilSettled(app, options);
        assert.equal(reply.header("idempotency-replayed"), "true");
        assert.ok(reply.body.equals(first.body));
        assert.equal(reply.header("idempotency-stored"), undefined);
        assert.equal(app.effects(), 1);
        assert.ok(app.events.some((event) => event.type === "not-stored"));
      },
    ),
  ),
  ...Object.entries<Ask["plan"]>({
    "204": { status: 204, content: { none: true }, headers: [] },
    "empty 200": { status: 200, content: { none: true }, headers: [] },
    false: { status: 200, content: { json: false } },
    "0": { status: 200, content: { json: 0 } },
    null: { status: 200, content: { json: null } },
    '""': { status: 200, content: { json: "" } },
  }).map(([name, plan]) =>
    defineCase(`A19 ${name}`, "is replayed as it was, and the handler does not run again", async (rig) => {
      const app = await rig.start();
      const isValue = plan?.content !== undefined && "json" in plan.content;
      const way = isValue && rig.subject.ways.includes("json") ? "json" : "send";
      await keeps(app, { key: freshKey(), plan: { ...plan, way } });
    }),
  ),
  defineCase(
    "A19 void",
    "an answer of nothing is replayed as nothing",
    async (rig) => {
      const app = await rig.start();
      await keeps(app, { key: freshKey(), plan: { status: 200, way: "void", headers: [] } });
    },
    ["way:void"],
  ),
  defineCase("A20", "64 KiB of random bytes are the same in every way of writing them", async (rig) => {
    const app = await rig.start();
    const ways = rig.subject.ways.filter((way) => !["json", "void", "hints", "events", "flush"].includes(way));
    for (const way of ["send", ...ways]) {
      const first = await keeps(app, { key: freshKey(), plan: { way, content: { random: 65_536, seed: 20 } } });
      assert.equal(first.body.length, 65_536, way);
    }
  }),
  defineCase("A21", "every way of writing is captured whole and replayed alike", async (rig) => {
    const app = await rig.start();
    for (const way of rig.subject.ways.filter((each) => !["hints", "events", "flush"].includes(each))) {
      for (const size of [5, 40_000]) {
        const content = { text: size };
        const first = await keeps(app, { key: freshKey(), plan: { way, content, headers: [["X-Way", way]] } });
        assert.deepEqual(first.lines("x-way"), [way]);
      }
    }
  }),
  defineCase("A22", "Location, ETag, two Links and custom headers are kept with their number", async (rig) => {
    const app = await rig.start();
    const headers = [
      ["Location", "/things/1"],
      ["ETag", 'W/"1"'],
      ["Link", '</a>; rel="next"'],
      ["Link", '</b>; rel="prev"'],
      ["X-Custom", "1"],
      ["X-Custom", "2"],
    ] as const;
    for (const way of ["send", ...rig.subject.ways.filter((each) => ["write", "json", "writeHead"].includes(each))]) {
      const options: Ask = { key: freshKey(), plan: { headers, way } };
      const first = await keeps(app, options);
      const replay = await app.ask(options);
      for (const reply of [first, replay]) {
        assert.deepEqual(reply.lines("link"), ['</a>; rel="next"', '</b>; rel="prev"'], way);
        assert.deepEqual(reply.lines("x-custom"), ["1", "2"], way);
      }
    }
  }),
  defineCase("A23", "Set-Cookie, hop-by-hop lines and Date are not replayed; the length is right", async (rig) => {
    const app = await rig.start();
    const headers = [
      ["Set-Cookie", "session=secret"],
      ["Connection", "X-Hop"],
      ["Proxy-Authenticate", "Basic"],
      ["Date", "Thu, 01 Jan 2015 00:00:00 GMT"],
    ] as const;
    const options: Ask = { key: freshKey(), plan: { headers } };
    const first = await keeps(app, options);
    const replay = await app.ask(options);
    for (const name of ["set-cookie", "proxy-authenticate"]) assert.deepEqual(replay.lines(name), [], name);
    assert.notEqual(replay.header("connection"), "X-Hop");
    assert.notEqual(replay.header("date"), first.header("date"));
    assert.equal(replay.header("content-length"), String(first.body.length));
  }),
  defineCase(
    "A25",
    "an event stream is delivered live; a retry is told so and does not run",
    async (rig) => {
      const app = await rig.start();
      for (const way of ["events", "flush"]) {
        const options: Ask = { key: freshKey(), plan: { way, status: 200, eventsGate: way } };
        const before = app.effects();
        const socket = await sendRaw(app.port, requestText(options));
        let seen = "";
        socket.on("data", (chunk: Buffer) => {
          seen += chunk.toString("latin1");
        });
        await eventually("the first event", () => seen.includes("data: 1"));
        assert.ok(!seen.includes("data: 2"));
        assertRefused(await app.ask(options), 409, "response-not-stored");
        app.gates.open(way);
        await eventually("the last event", () => seen.includes("data: 3"));
        socket.destroy();
        assertRefused(await app.ask(options), 409, "response-not-stored");
        assert.equal(app.effects() - before, 1);
      }
    },
    ["way:events", "way:flush"],
  ),
  defineCase("A27", "an answer above the cap is never run again, also when its client left half way", async (rig) => {
    const app = await rig.start();
    const plan = { content: { random: 3_000_000, seed: 27 }, headers: [["Location", "/big"]] } as const;
    const options: Ask = { to: "small", key: freshKey(), plan };
    const socket = await sendRaw(app.port, requestText(options));
    socket.pause();
    await eventually("the tombstone", async () => (await rig.store.stats()).completed === 1);
    socket.destroy();
    const problem = assertRefused(await app.ask(options), 409, "response-not-stored");
    assert.equal(problem["location"], "/big");
    assert.equal(app.effects(), 1);
  }),
  defineCase("A28", "multipart is compared by its parts, not by its boundary", async (rig) => {
    const app = await rig.start();
    const form = (boundary: string, file: string): Ask => ({
      headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
      content: [
        `--${boundary}\r\nContent-Disposition: form-data; name="amount"\r\n\r\n100\r\n`,
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n`,
        `Content-Type: application/octet-stream\r\n\r\n${file}\r\n--${boundary}--\r\n`,
      ].join(""),
    });
    const key = freshKey();
    const first = assertExecuted(await app.ask({ ...form("one", "content"), key }));
    assertReplayed(await app.ask({ ...form("two", "content"), key }), first);
    assertRefused(await app.ask({ ...form("three", "changed"), key }), 422, "idempotency-key-reused");
    assert.equal(app.effects(), 1);
  }),
  defineCase(
    "A30",
    "waiting duplicates: replay when it ends, run when it fails, conflict when it overruns",
    async (rig) => {
      const app = await rig.start();
      const [ends, fails, overruns] = [freshKey(), freshKey(), freshKey()];
      const first = app.ask({ to: "wait", key: ends, plan: { gate: "ends" } });
      await app.gates.reached("ends");
      const waiting = app.ask({ to: "wait", key: ends });
      await eventually("the duplicate to wait", async () => (await app.waiting()) === 1);
      app.gates.open("ends");
      const answer1 = assertExecuted(await first);
      assertReplayed(await waiting, answer1);

      const failing = app.ask({ to: "wait", key: fails, plan: { gate: "fails", throws: "after", effects: 0 } });
      await app.gates.reached("fails");
      const admitted = app.ask({ to: "wait", key: fails });
      await eventually("the duplicate to wait", async () => (await app.waiting()) === 1);
      app.gates.open("fails");
      assertExecuted(await failing, 500);
      const answer2 = assertExecuted(await admitted);
      assertReplayed(await app.ask({ to: "wait", key: fails }), answer2);

      const slow = app.ask({ to: "wait-briefly", key: overruns, plan: { gate: "overruns" } });
      await app.gates.reached("overruns");
      assertRefused(await app.ask({ to: "wait-briefly", key: overruns }), 409, "idempotency-in-flight");
      app.gates.open("overruns");
      const answer3 = assertExecuted(await slow);
      assertReplayed(await app.ask({ to: "wait-briefly", key: overruns }), answer3);
      assert.equal(app.effects(), 3);
    },
  ),
  defineCase(
    "A33",
    "past its retention a key is new, swept or not; a sweep leaves living claims alone",
    async (rig) => {
      const app = await rig.start({ engine: { retentionMs: 800, sweepMs: "off" } });
      const [lives, unswept] = [freshKey(), freshKey()];
      const running = app.ask({ key: lives, plan: { gate: "a33" } });
      await app.gates.reached("a33");
      assertExecuted(await app.ask({ key: unswept }));
      await expiredKeys(rig, app, 100);
      // By now the living claim is past the retention too.
      await eventually("the key that was not swept to run as new", async () => {
        const reply = await app.ask({ key: unswept });
        return reply.status === 201 && reply.header("idempotency-replayed") === undefined;
      });
      let deleted = 0;
      await eventually("a sweep that removes what has expired", async () => {
        deleted += (await app.sweep()).deleted;
        return deleted >= 100;
      });
      assertRefused(await app.ask({ key: lives }), 409, "idempotency-in-flight");
      app.gates.open("a33");
      assertExecuted(await running);
    },
  ),
  defineCase(
    "A36",
    "a store that is down or slow before the claim is refused in time, or passed by where that was chosen",
    async (rig) => {
      const store = faultyStore(rig.store);
      const app = await rig.start({ store, engine: { storeTimeoutMs: 200 } });
      for (const fault of ["refuse", "lose", "hang"] as const) {
        store.break(["claim"], fault);
        const startedMs = performance.now();
        assertRefused(await app.ask({ key: freshKey() }), 503, "store-unavailable");
        assert.ok(performance.now() - startedMs < 10_000, "within a limit");
        assert.equal(app.effects(), 0);
      }
      store.break(["claim"], "refuse");
      assertExecuted(await app.ask({ to: "open", key: freshKey() }));
      store.heal();
      await keeps(app, { key: freshKey() });
    },
  ),
  defineCase("A37", "a store that is down at boot and at completion: the server lives and says so", async (rig) => {
    const store = faultyStore(rig.store);
    store.break(allVerbs, "refuse");
    const app = await rig.start({ store, engine: { leaseMs: 1_000 } });
    assertRefused(await app.ask({ key: freshKey() }), 503, "store-unavailable");
    assert.ok(app.events.some((event) => event.type === "warning"));
    store.heal();
    store.break(["complete", "renew"], "refuse");
    assert.equal(assertExecuted(await app.ask({ key: freshKey() })).header("idempotency-stored"), "false");
    assert.ok(app.events.some((event) => event.type === "not-stored"));
    store.heal();
    await keeps(app, { key: freshKey() });
  }),
  ...[300_000, -300_000].map((byMs) =>
    defineCase(
      `A40 ${byMs > 0 ? "ahead" : "behind"}`,
      "a node whose clock is five minutes off takes nothing over early",
      async (rig) => {
        const leaseMs = 2_000;
        const app = await rig.start({ engine: { leaseMs } });
        const off = await rig.start({ store: rig.second, engine: { leaseMs, environment: skewed(byMs) } });
        for (const [owner, other] of [
          [app, off],
          [off, app],
        ] as const) {
          const key = freshKey();
          const running = owner.ask({ key, plan: { gate: "a40" } });
          await owner.gates.reached("a40");
          assertRefused(await other.ask({ key }), 409, "idempotency-in-flight");
          owner.gates.open("a40");
          const answer4 = assertExecuted(await running);
          assertReplayed(await other.ask({ key }), answer4);
        }
        assert.equal(app.effects() + off.effects(), 2);
      },
    ),
  ),
];
