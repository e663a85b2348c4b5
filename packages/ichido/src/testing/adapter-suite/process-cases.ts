/** What only real processes show: several server processes on one store, killed without warning. */
import assert from "node:assert/strict";
import { casesNeeding, type AdapterCase } from "./case.ts";
import { ask, eventually, requestText, sendRaw, type Ask, type Reply } from "./client.ts";
import { askUntilSettled } from "./repeats.ts";
import { assertExecuted, assertRefused, assertReplayed, freshKey, type Rig } from "./rig.ts";
import type { ProcessOptions, ServerProcess, ServerProcesses } from "./subject.ts";

const leaseMs = 2_000;

const untilSettled = (port: number, options: Ask): Promise<Reply> =>
  askUntilSettled({ ask: (asked = {}) => ask(port, asked) }, options);

/** Sends a request that its server does not survive. */
async function lost(port: number, options: Ask): Promise<void> {
  const socket = await sendRaw(port, requestText(options));
  await new Promise<void>((resolve) => void socket.once("close", () => resolve()));
}

/** A request that is counted for the case. */
export function counted({ tally }: ServerProcesses, options: Ask): Ask {
  return { ...options, plan: { ...options.plan, tally } };
}

interface TwoServers {
  readonly processes: ServerProcesses;
  readonly first: ServerProcess;
  readonly other: ServerProcess;
  /** A request that is counted for the case. */
  readonly options: Ask;
}

/** Two servers, the first of which has a short lease and may be killed at a point. */
async function twoServers(rig: Rig, faulty: ProcessOptions, asked: Ask = {}): Promise<TwoServers> {
  const processes = await rig.processes();
  const [first, other] = await Promise.all([processes.start({ leaseMs, ...faulty }), processes.start()]);
  return { processes, first, other, options: counted(processes, { key: freshKey(), ...asked }) };
}

export const processCases: readonly AdapterCase[] = [
  ...(
    [
      ["before-commit", 0],
      ["after-commit", 1],
    ] as const
  ).flatMap(([point, committed]) =>
    casesNeeding(["processes", "transactions"], {
      [`E-08 processes ${point}: effect and answer are committed together or not at all`]: async (rig) => {
        const asked = { plan: { transaction: true } };
        const { processes, first: doomed, other, options } = await twoServers(rig, { faults: `${point}:kill` }, asked);
        await lost(doomed.port, options);
        assert.equal(await processes.committedEffects(), committed);
        const reply = await untilSettled(other.port, options);
        assert.equal(reply.status, 201);
        assert.equal(reply.header("idempotency-replayed"), committed === 1 ? "true" : undefined);
        assert.equal(await processes.committedEffects(), 1);
      },
    }),
  ),
  ...casesNeeding(["processes"], {
    "C-04 processes: fifty simultaneous requests over two processes: one runs": async (rig) => {
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
    "A04: after kill -9 mid-handler the retry is admitted within about a lease": async (rig) => {
      const { processes, first: doomed, other, options } = await twoServers(rig, {});
      const gone = lost(doomed.port, { ...options, plan: { ...options.plan, sleepMs: 60_000 } });
      await eventually("the handler to start", () => processes.arrivals() === 1);
      await doomed.kill();
      await gone;
      assertRefused(await ask(other.port, options), 409, "idempotency-in-flight");
      const reply = assertExecuted(await untilSettled(other.port, options));
      assertReplayed(await ask(other.port, options), reply);
      assert.equal(processes.effects(), 1);
    },
    "A04 slow: a handler slower than its lease is not overtaken while its process lives": async (rig) => {
      const asked = { plan: { sleepMs: 4_500 } };
      const { processes, first: owner, other, options } = await twoServers(rig, { leaseMs: 3_000 }, asked);
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
    "E-07 processes: killed after the claim, before the effect: in flight until the lease ends, then it runs": async (
      rig,
    ) => {
      const { processes, first: doomed, other, options } = await twoServers(rig, { faults: "after-claim:kill" });
      await lost(doomed.port, options);
      assertRefused(await ask(other.port, options), 409, "idempotency-in-flight");
      assertExecuted(await untilSettled(other.port, options));
      assert.equal(processes.effects(), 1);
    },
    "E-08 processes: killed between effect and record: held, never run a second time in silence": async (rig) => {
      const faults = "before-complete:kill";
      const { processes, first: doomed, other, options } = await twoServers(rig, { faults }, { to: "hold" });
      await lost(doomed.port, options);
      assertRefused(await untilSettled(other.port, options), 409, "outcome-unknown");
      assert.equal(processes.effects(), 1);
    },
  }),
];
