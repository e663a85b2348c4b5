/** What only real processes show: servers of their own on one store, killed without warning. */
import assert from "node:assert/strict";
import { defineCase, type AdapterCase } from "./case.ts";
import { ask, eventually, requestText, sendRaw, type Ask, type Reply } from "./client.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey } from "./rig.ts";
import type { ServerProcesses } from "./subject.ts";

const leaseMs = 2_000;

async function untilSettled(port: number, options: Ask): Promise<Reply> {
  let reply = await ask(port, options);
  await eventually("the lease to end", async () => {
    if (reply.status === 409 && reply.json()["code"] === "idempotency-in-flight") reply = await ask(port, options);
    return !(reply.status === 409 && reply.json()["code"] === "idempotency-in-flight");
  });
  return reply;
}

/** Sends a request that its server does not survive. */
async function lost(port: number, options: Ask): Promise<void> {
  const socket = await sendRaw(port, requestText(options));
  await new Promise<void>((resolve) => void socket.once("close", () => resolve()));
}

const needs = ["processes"] as const;

/** A request that is counted for the case. */
export function counted({ tally }: ServerProcesses, options: Ask): Ask {
  return { ...options, plan: { ...options.plan, tally } };
}

export const processCases: readonly AdapterCase[] = [
  defineCase(
    "C-04 processes",
    "fifty simultaneous requests over two processes: one runs",
    async (rig) => {
      const processes = await rig.processes();
      const servers = await Promise.all([processes.start(), processes.start()]);
      const options = counted(processes, { key: freshKey(), plan: { sleepMs: 500 } });
      const replies = await Promise.all(
        Array.from({ length: 50 }, (_, index) => ask(servers[index % 2]?.port ?? 0, options)),
      );
      const executed = replies.filter(
        (reply) => reply.header("idempotency-replayed") === undefined && reply.status === 201,
      );
      assert.equal(executed.length, 1);
      for (const reply of replies) assert.ok(reply.status === 201 || reply.status === 409);
      for (const { port } of servers) assertReplayed(await ask(port, options), executed[0] as Reply);
      assert.equal(processes.effects(), 1);
    },
    needs,
  ),
  defineCase(
    "A04",
    "after kill -9 mid-handler the retry is admitted within about a lease",
    async (rig) => {
      const processes = await rig.processes();
      const [doomed, other] = await Promise.all([processes.start({ leaseMs }), processes.start()]);
      const options = counted(processes, { key: freshKey() });
      const gone = lost(doomed.port, { ...options, plan: { ...options.plan, sleepMs: 60_000 } });
      await eventually("the handler to start", () => processes.arrivals() === 1);
      await doomed.kill();
      await gone;
      assertRefused(await ask(other.port, options), 409, "idempotency-in-flight");
      const reply = assertExecuted(await untilSettled(other.port, options));
      assertReplayed(await ask(other.port, options), reply);
      assert.equal(processes.effects(), 1);
    },
    needs,
  ),
  defineCase(
    "A04 slow",
    "a handler slower than its lease is not overtaken while its process lives",
    async (rig) => {
      const processes = await rig.processes();
      const [owner, other] = await Promise.all([processes.start({ leaseMs: 3_000 }), processes.start()]);
      const options = counted(processes, { key: freshKey(), plan: { sleepMs: 4_500 } });
      let first: Reply | undefined;
      const running = ask(owner.port, options).then((reply) => {
        first = reply;
      });
      await eventually("the handler to start", () => processes.arrivals() === 1);
      while (first === undefined) {
        const reply = await ask(other.port, options);
        if (first === undefined) assert.ok(reply.status === 409 || reply.header("idempotency-replayed") === "true");
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await running;
      assertReplayed(await ask(other.port, options), assertExecuted(first));
      assert.equal(processes.effects(), 1);
    },
    needs,
  ),
  defineCase(
    "E-07 processes",
    "killed after the claim, before the effect: in flight until the lease ends, then it runs",
    async (rig) => {
      const processes = await rig.processes();
      const [doomed, other] = await Promise.all([
        processes.start({ leaseMs, faults: "after-claim:kill" }),
        processes.start(),
      ]);
      const options = counted(processes, { key: freshKey() });
      await lost(doomed.port, options);
      assertRefused(await ask(other.port, options), 409, "idempotency-in-flight");
      assertExecuted(await untilSettled(other.port, options));
      assert.equal(processes.effects(), 1);
    },
    needs,
  ),
  defineCase(
    "E-08 processes",
    "killed between effect and record: held, never run a second time in silence",
    async (rig) => {
      const processes = await rig.processes();
      const [doomed, other] = await Promise.all([
        processes.start({ leaseMs, faults: "before-complete:kill" }),
        processes.start(),
      ]);
      const options = counted(processes, { to: "hold", key: freshKey() });
      await lost(doomed.port, options);
      assertRefused(await untilSettled(other.port, options), 409, "outcome-unknown");
      assert.equal(processes.effects(), 1);
    },
    needs,
  ),
  ...(
    [
      ["before-commit", 0],
      ["after-commit", 1],
    ] as const
  ).map(([point, committed]) =>
    defineCase(
      `E-08 processes ${point}`,
      "effect and answer are committed together or not at all",
      async (rig) => {
        const processes = await rig.processes();
        const [doomed, other] = await Promise.all([
          processes.start({ leaseMs, faults: `${point}:kill` }),
          processes.start(),
        ]);
        const options = counted(processes, { key: freshKey(), plan: { transaction: true } });
        await lost(doomed.port, options);
        assert.equal(await processes.committedEffects(), committed);
        const reply = await untilSettled(other.port, options);
        assert.equal(reply.status, 201);
        assert.equal(reply.header("idempotency-replayed"), committed === 1 ? "true" : undefined);
        assert.equal(await processes.committedEffects(), 1);
      },
      ["processes", "transactions"],
    ),
  ),
];
