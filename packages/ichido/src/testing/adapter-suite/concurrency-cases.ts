/** C: many requests at once. */
import assert from "node:assert/strict";
import { appCases, defineCases, type AdapterCase } from "./case.ts";
import { eventually, type Ask, type Reply } from "./client.ts";
import { assertExecuted, assertRefused, assertReplayed, untilAtGate, whileRunning, type App } from "./rig.ts";

const crowd = 50;

/** Sends fifty requests at once to the servers; the one that runs waits at a gate until all others were answered. */
async function rush(apps: readonly App[], options: Ask): Promise<readonly Reply[]> {
  let answered = 0;
  const asks = Array.from({ length: crowd }, async (_, index) => {
    const reply = await (apps[index % apps.length] as App).ask({ ...options, plan: { ...options.plan, gate: "rush" } });
    answered += 1;
    return reply;
  });
  await eventually("all but the winner are answered", () => answered === crowd - 1);
  for (const app of apps) app.gates.open("rush");
  return Promise.all(asks);
}

function assertOneWinner(replies: readonly Reply[]): Reply {
  const won = replies.filter(({ status }) => status === 201);
  assert.equal(won.length, 1, "one request ran");
  for (const reply of replies) if (reply.status !== 201) assertRefused(reply, 409, "idempotency-in-flight");
  return assertExecuted(won[0] as Reply);
}

const effectsOf = (apps: readonly App[]): number => apps.reduce((sum, app) => sum + app.effects(), 0);

export const concurrencyCases: readonly AdapterCase[] = [
  ...appCases({
    "C-01: of fifty simultaneous requests one runs, the others are told to wait": async (app, key) => {
      const winner = assertOneWinner(await rush([app], { key }));
      assertReplayed(await app.ask({ key }), winner);
      assert.equal(app.effects(), 1);
    },
    "C-01 wait: where duplicates wait, all fifty get the one answer": async (app, key) => {
      const asks = Array.from({ length: crowd }, () => app.ask({ to: "wait", key, plan: { gate: "rush" } }));
      await app.gates.reached("rush");
      await eventually("the others to wait", async () => (await app.waiting()) === crowd - 1);
      app.gates.open("rush");
      const replies = await Promise.all(asks);
      const first = replies.filter((reply) => reply.header("idempotency-replayed") === undefined);
      assert.equal(first.length, 1);
      for (const reply of replies) if (reply !== first[0]) assertReplayed(reply, first[0] as Reply);
      assert.equal(app.effects(), 1);
    },
    "C-01 polling: answers a duplicate with 202, where to ask and when": async (app, key) => {
      const first = await whileRunning(app, { to: "polling", key }, async () => {
        const reply = assertExecuted(await app.ask({ to: "polling", key }), 202);
        assert.match(reply.header("location") ?? "", /^\/operations\/.+/);
        assert.match(reply.header("retry-after") ?? "", /^[1-9]\d*$/);
      });
      assertReplayed(await app.ask({ to: "polling", key }), first);
      assert.equal(app.effects(), 1);
    },
    "C-02: the refusal says when to come back, is not stored, and the retry replays": async (app, key) => {
      const first = await whileRunning(app, { key }, async () => {
        const reply = await app.ask({ key });
        const problem = assertRefused(reply, 409, "idempotency-in-flight");
        assert.equal(problem["retryable"], true);
        assert.equal(String(problem["retryAfter"]), reply.header("retry-after"));
      });
      assertReplayed(await app.ask({ key }), first);
      assert.equal(app.effects(), 1);
    },
    "C-03: other content is a mismatch also while the first is running": async (app, key) => {
      const first = await whileRunning(app, { key }, async () => {
        assertRefused(await app.ask({ key, json: { amount: 1 } }), 422, "idempotency-key-reused");
      });
      assertReplayed(await app.ask({ key }), first);
      assert.equal(app.effects(), 1);
    },
  }),
  ...defineCases({
    "C-02 lease: of an owner that no longer renews, the refusal tells the rest of its lease": async (rig, key) => {
      const leftMs = 6_500;
      const app = await rig.start({
        wrap: (store) => ({
          ...store,
          claim: async (request) => {
            const result = await store.claim(request);
            return result.outcome === "processing" ? { ...result, leaseLeftMs: leftMs } : result;
          },
        }),
      });
      const first = await whileRunning(app, { key }, async () => {
        const reply = await app.ask({ key });
        const problem = assertRefused(reply, 409, "idempotency-in-flight");
        assert.deepEqual([reply.header("retry-after"), problem["retryAfter"]], ["7", 7]);
      });
      assertReplayed(await app.ask({ key }), first);
    },
    "C-04: two servers on one store: of fifty simultaneous requests one runs": async (rig, key) => {
      const apps = [await rig.start(), await rig.start({ store: rig.second })];
      const winner = assertOneWinner(await rush(apps, { key }));
      for (const app of apps) assertReplayed(await app.ask({ key }), winner);
      assert.equal(effectsOf(apps), 1);
    },
    "C-05: a handler slower than its lease keeps its key while it lives": async (rig, key) => {
      const leaseMs = 3_000;
      const app = await rig.start({ engine: { leaseMs } });
      const other = await rig.start({ store: rig.second, engine: { leaseMs } });
      const running = await untilAtGate(app, { key }, "slow");
      const untilMs = performance.now() + leaseMs * 1.5;
      while (performance.now() < untilMs) {
        assertRefused(await other.ask({ key }), 409, "idempotency-in-flight");
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      app.gates.open("slow");
      const first = assertExecuted(await running.reply);
      assertReplayed(await other.ask({ key }), first);
      assert.equal(effectsOf([app, other]), 1);
    },
    "C-05 zombie: a late finisher neither overwrites the record nor answers with its own result": async (rig, key) => {
      const leaseMs = 300;
      // The heartbeat of this engine hangs, as in a frozen process; everything else works.
      const faults = (name: string): void | Promise<void> =>
        name === "before-renew" ? new Promise<void>(() => undefined) : undefined;
      const zombie = await rig.start({ engine: { leaseMs, faults, closeMs: 10 } });
      const app = await rig.start({ store: rig.second });
      const plan = { fenced: true } as const;
      const late = await untilAtGate(zombie, { key, plan }, "frozen");
      let reply = await app.ask({ key, plan });
      await eventually("the takeover", async () => {
        if (reply.status === 409) reply = await app.ask({ key, plan });
        return reply.status !== 409;
      });
      const second = assertExecuted(reply);
      zombie.gates.open("frozen");
      const replaced = await late.reply;
      assert.ok(replaced.body.equals(second.body), "the late finisher's caller gets the answer of the record");
      assertReplayed(await app.ask({ key, plan }), second);
      assert.equal(app.effects(), 1);
    },
  }),
];
