/** A01 to A15, A28, A30: many requests at once, clients that leave, keys that are used again. */
import assert from "node:assert/strict";
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { appCases, defineCases, type AdapterCase } from "./case.ts";
import { ask, eventually, requestText, sendRaw, type Ask, type Reply } from "./client.ts";
import { isReplayed, sampleBytes, type Plan } from "./plan.ts";
import { counted } from "./process-cases.ts";
import { askUntilSettled, keeps, runs } from "./repeats.ts";
import {
  assertExecuted,
  assertRefused,
  assertReplayed,
  freshKey,
  untilAtGate,
  whileRunning,
  type App,
  type Rig,
  unfinishedIn,
} from "./rig.ts";

/** Two servers: in processes of their own where other processes see the store. */
async function twoServers(rig: Rig): Promise<{
  readonly effects: () => number;
  readonly ask: (server: number, options: Ask) => Promise<Reply>;
}> {
  if (rig.subject.openProcesses === undefined) {
    const apps = [await rig.start(), await rig.start({ store: rig.second })] as const;
    return {
      effects: () => apps[0].effects() + apps[1].effects(),
      ask: (server, options) => (apps[server] ?? apps[0]).ask(options),
    };
  }
  const processes = await rig.processes();
  const servers = await Promise.all([processes.start(), processes.start()]);
  return {
    effects: () => processes.effects(),
    ask: (server, options) => ask(servers[server]?.port ?? 0, counted(processes, options)),
  };
}

/** Sends eight requests at once for each key, to two servers. */
async function storm(
  asking: (server: number, options: Ask) => Promise<Reply>,
  keys: number,
): Promise<{ readonly executed: number; readonly others: readonly number[] }> {
  let executed = 0;
  const others: number[] = [];
  const agent = new Agent({ keepAlive: true });
  const oneKey = async (): Promise<void> => {
    const key = freshKey();
    const replies = await Promise.all(Array.from({ length: 8 }, (_, index) => asking(index % 2, { key, agent })));
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

export const fireCases: readonly AdapterCase[] = [
  ...Object.entries<readonly [Ask, Ask]>({
    "in the query": [{ to: "create?a=1" }, { to: "create?a=2" }],
    "past 1 MiB": [{ json: { text: `${"x".repeat(1_100_000)}a` } }, { json: { text: `${"x".repeat(1_100_000)}b` } }],
    "above 2^53": [{ content: '{"a":[9007199254740993]}' }, { content: '{"a":[9007199254740992]}' }],
    "in duplicate members": [{ content: '{"a":1,"a":2}' }, { content: '{"a":2}' }],
    "in a __proto__ member": [{ content: '{"a":1,"__proto__":{"x":1}}' }, { content: '{"a":1,"__proto__":{"x":2}}' }],
    "in a null": [{ content: '{"a":null}' }, { content: "{}" }],
  }).flatMap(([where, [one, two]]) =>
    appCases({
      [`A13 ${where}: a difference there alone is a difference`]: async (app, key) => {
        const first = assertExecuted(await app.ask({ ...one, key }));
        assertRefused(await app.ask({ ...two, key }), 422, "idempotency-key-reused");
        assertReplayed(await app.ask({ ...one, key }), first);
        assert.equal(app.effects(), 1);
      },
    }),
  ),
  ...appCases({
    "A02: a client that drops mid-handler and retries at once does not run it twice": async (app, key, rig) => {
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
    },
    "A03: a client that dropped gets the stored answer later; no key stays unfinished": async (app, key, rig) => {
      const options: Ask = { key };
      await dropped(app, options, "a03");
      app.gates.open("a03");
      await eventually("the answer to be recorded", async () => (await rig.store.stats()).completed === 1);
      const reply = await app.ask(options);
      assert.deepEqual([reply.status, reply.header("idempotency-replayed")], [201, "true"]);
      assert.deepEqual([app.effects(), await unfinishedIn(rig)], [1, 0]);
    },
    "A08: two principals never see each other's answer; a rotated token is the same principal": async (app, key) => {
      const alice = assertExecuted(await app.ask({ key, token: "alice-1" }));
      const bob = assertExecuted(await app.ask({ key, token: "bob-1" }));
      assert.notEqual(alice.body.toString(), bob.body.toString());
      assertReplayed(await app.ask({ key, token: "alice-2" }), alice);
      assertReplayed(await app.ask({ key, token: "bob-1" }), bob);
      assert.equal(app.effects(), 2);
    },
    "A09: another operation is independent, overlapping too; another target of the same is a mismatch": async (
      app,
      key,
    ) => {
      const first = await whileRunning(app, { to: "create/1", key }, async () => {
        assertExecuted(await app.ask({ to: "second/1", key }));
        assertRefused(await app.ask({ to: "create/2", key }), 422, "idempotency-key-reused");
      });
      assertRefused(await app.ask({ to: "create/2", key }), 422, "idempotency-key-reused");
      assertReplayed(await app.ask({ to: "create/1", key }), first);
      assert.equal(app.effects(), 2);
    },
    "A10: own keys with identical bodies all run: two principals, and two applications on one store": async (
      app,
      key,
      rig,
    ) => {
      const other = await rig.start({ store: rig.second, routes: { "of-other-app": {} } });
      await Promise.all([
        runs(app, { key: freshKey(), token: "alice-1" }, 1),
        runs(other, { to: "of-other-app", key: freshKey(), token: "bob-1" }, 1),
      ]);
      assertExecuted(await app.ask({ key }));
      assertExecuted(await other.ask({ to: "of-other-app", key }));
      assert.equal(app.effects() + other.effects(), 4);
    },
    "A11: requests without a body to two resources, each with its own key, both run": async (app) => {
      const keys = [freshKey(), freshKey()];
      const first = assertExecuted(await app.ask({ to: "create/1", key: keys[0] ?? null, content: "" }));
      assertExecuted(await app.ask({ to: "create/2", key: keys[1] ?? null, content: "" }));
      assertReplayed(await app.ask({ to: "create/1", key: keys[0] ?? null, content: "" }), first);
      assert.equal(app.effects(), 2);
    },
    "A13 query order: the order of query parameters does not matter": async (app, key) => {
      const first = assertExecuted(await app.ask({ to: "create?a=1&b=2", key }));
      assertReplayed(await app.ask({ to: "create?b=2&a=1", key }), first);
    },
    "A15: keys and targets of any length are answered as documented, never with 500": async (app) => {
      const accepted = ['"a"', "b", `"${"k".repeat(255)}"`, '"quoted string"'];
      const refused = ["", '""', `"${"k".repeat(256)}"`, "k".repeat(300), '"caf\u00e9"'];
      for (const key of accepted) await keeps(app, { key });
      for (const key of refused) assertRefused(await app.ask({ key }), 400, "idempotency-key-invalid");
      assertRefused(await app.ask({ key: ["a", "a"] }), 400, "idempotency-key-invalid");
      await keeps(app, { to: `create?q=${"x".repeat(2_000)}`, key: freshKey() });
    },
    "A28: multipart is compared by its parts, not by its boundary": async (app, key) => {
      const form = (boundary: string, file: string): Ask => ({
        headers: { "content-type": `multipart/form-data; boundary=${boundary}` },
        content: [
          `--${boundary}\r\nContent-Disposition: form-data; name="amount"\r\n\r\n100\r\n`,
          `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n`,
          `Content-Type: application/octet-stream\r\n\r\n${file}\r\n--${boundary}--\r\n`,
        ].join(""),
      });
      const first = assertExecuted(await app.ask({ ...form("one", "content"), key }));
      assertReplayed(await app.ask({ ...form("two", "content"), key }), first);
      assertRefused(await app.ask({ ...form("three", "changed"), key }), 422, "idempotency-key-reused");
      assert.equal(app.effects(), 1);
    },
    "A30: waiting duplicates: replay when it ends, run when it fails, conflict when it overruns": async (app) => {
      const withDuplicate = async (key: string, plan: Plan): Promise<readonly [Reply, Reply]> => {
        const running = app.ask({ to: "wait", key, plan: { ...plan, gate: key } });
        await app.gates.reached(key);
        const waiting = app.ask({ to: "wait", key });
        await eventually("the duplicate to wait", async () => (await app.waiting()) === 1);
        app.gates.open(key);
        return Promise.all([running, waiting]);
      };
      const [first, waited] = await withDuplicate(freshKey(), {});
      assertReplayed(waited, assertExecuted(first));

      const fails = freshKey();
      const [failed, admitted] = await withDuplicate(fails, { throws: "after", effects: 0 });
      assertExecuted(failed, 500);
      assertReplayed(await app.ask({ to: "wait", key: fails }), assertExecuted(admitted));

      const overruns = { to: "wait-briefly", key: freshKey() };
      const slow = await whileRunning(app, overruns, async () => {
        assertRefused(await app.ask(overruns), 409, "idempotency-in-flight");
      });
      assertReplayed(await app.ask(overruns), slow);
      assert.equal(app.effects(), 3);
    },
  }),
  ...defineCases({
    "A01: 200 keys, eight requests at once each, over two servers: every effect happens once": async (rig) => {
      const servers = await twoServers(rig);
      const { executed, others } = await storm(servers.ask, 200);
      assert.equal(executed, 200);
      assert.equal(servers.effects(), 200);
      assert.equal(others.length, 1_400);
      assert.deepEqual(
        [...new Set(others)].filter((status) => status !== 201 && status !== 409),
        [],
      );
    },
    "A02 storm: clients that drop at any moment and retry, in every way of writing: one effect each, nothing stuck":
      async (rig) => {
        const app = await rig.start({ engine: { onUnknown: "hold" } });
        const ways = ["send", ...rig.subject.ways.filter((way) => isReplayed(way) && way !== "void")];
        // Fixed pseudo-random choices: the same connections are dropped in every run, at different moments of the
        // handler.
        const chance = sampleBytes(10_000, 2);
        let draws = 0;
        const draw = (below: number): number => {
          draws += 1;
          return ((chance[draws % chance.length] ?? 0) * below) >> 8;
        };
        const oneKey = async (_: unknown, index: number): Promise<void> => {
          const way = ways[index % ways.length] ?? "send";
          const options: Ask = {
            key: freshKey(),
            plan: { way, sleepMs: draw(12), content: { text: draw(2) * 30_000 } },
          };
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
        assert.deepEqual([app.effects(), stats.completed, stats.records], [keys, keys, keys]);
      },
    "A14: other content is a mismatch in flight, when completed and after a takeover; the original replays": async (
      rig,
      key,
    ) => {
      const leaseMs = 300;
      const hangs = (name: string): void | Promise<void> =>
        name === "before-renew" ? new Promise<void>(() => undefined) : undefined;
      const lost = await rig.start({ engine: { leaseMs, faults: hangs, closeMs: 10 } });
      const app = await rig.start({ store: rig.second });
      const mismatch = async (): Promise<unknown> =>
        assertRefused(await app.ask({ key, json: { amount: 1 } }), 422, "idempotency-key-reused");
      await untilAtGate(lost, { key }, "a14");
      await mismatch();
      await sleep(leaseMs + 100);
      await mismatch();
      const first = await whileRunning(app, { key }, async () => {
        await mismatch();
      });
      await mismatch();
      assertReplayed(await app.ask({ key }), first);
    },
  }),
];
