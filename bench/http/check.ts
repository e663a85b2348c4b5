/**
 * `npm run bench:http -- --check`: which servers do what they are measured for. K-01, K-02, F-01 and C-01 are those of
 * `ichido conform`; the others, from outside:
 *
 * A01  of eight equal requests at once to two processes one takes effect (to one process where keys live in memory)
 * A04  a key whose owner was killed at work is given to a retry within a lease (only where keys outlive a process)
 * A08  another caller with the same key and content does not get the first one's answer
 * A20  64 KiB of bytes that are no text come back as they were
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { conform, readDescription } from "ichido/conform";
import type { Server } from "./catalogue.ts";
import { startServer, type Running } from "./run.ts";
import { Services, type Place } from "./services.ts";

const conformIds = ["K-01", "K-02", "F-01", "C-01"] as const;
const slowMs = 700;
const leaseMs = 30_000;
const graceMs = 10_000;
const body = { amount: 100, currency: "JPY" };

interface Subject {
  readonly server: Server;
  readonly processes: readonly Running[];
  readonly another: () => Promise<Running>;
}

interface Sent {
  readonly path?: string;
  readonly caller?: string;
  readonly slowMs?: number;
}

function post({ port }: Running, key: string, { path = "/payments", caller = "ann", slowMs: slow }: Sent = {}) {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      authorization: `Bearer ${caller}`,
      "idempotency-key": key,
      ...(slow === undefined ? {} : { "x-slow-ms": String(slow) }),
    },
    body: JSON.stringify(body),
  });
}

async function effects(processes: readonly Running[]): Promise<number> {
  const each = processes.map(async ({ port }) => {
    const told = (await (await fetch(`http://127.0.0.1:${port}/effects`)).json()) as { effects: number };
    return told.effects;
  });
  return (await Promise.all(each)).reduce((all, count) => all + count, 0);
}

type Case = (subject: Subject) => Promise<boolean | undefined>;

const once: Case = async ({ processes }) => {
  const [keys, before] = [Array.from({ length: 200 }, () => randomUUID()), await effects(processes)];
  const statuses: number[] = [];
  for (const key of keys) {
    const all = Array.from({ length: 8 }, (_, place) => post(processes[place % processes.length] as Running, key));
    for (const answer of await Promise.all(all)) statuses.push(answer.status);
  }
  const expected = statuses.every((status) => status === 201 || status === 409);
  return expected && (await effects(processes)) - before === keys.length;
};

const killed: Case = async ({ server, processes: [kept], another }) => {
  if (server.store === "memory" || kept === undefined) return undefined;
  const [dying, key] = [await another(), randomUUID()];
  const lost = post(dying, key, { slowMs: 60_000 }).catch(() => undefined);
  await sleep(slowMs);
  process.kill(dying.child.pid, "SIGKILL");
  await lost;
  const endMs = Date.now() + leaseMs + graceMs;
  for (;;) {
    const { status } = await post(kept, key);
    if (status === 201 || Date.now() > endMs) return status === 201;
    await sleep(1_000);
  }
};

const ownAnswer: Case = async ({ processes }) => {
  const [one, key] = [processes[0] as Running, randomUUID()];
  const first = (await (await post(one, key, { caller: "ann" })).json()) as { id: string };
  const second = await (await post(one, key, { caller: "bob" })).text();
  return !second.includes(first.id);
};

const sameBytes: Case = async ({ processes }) => {
  const [one, key] = [processes[0] as Running, randomUUID()];
  const bytes = async (): Promise<Buffer> =>
    Buffer.from(await (await post(one, key, { path: "/files" })).arrayBuffer());
  const first = await bytes();
  return first.length === 65_536 && first.equals(await bytes());
};

const ownCases: readonly (readonly [string, Case])[] = [
  ["A01", once],
  ["A04", killed],
  ["A08", ownAnswer],
  ["A20", sameBytes],
];

async function conformFailures({ port }: Running): Promise<readonly string[]> {
  const description = readDescription({
    url: `http://127.0.0.1:${port}`,
    operation: { method: "POST", path: "/payments", body, status: 201 },
    otherBody: { ...body, amount: 200 },
    effects: { url: "/effects", pointer: "/effects" },
    principals: [{ Authorization: "Bearer one" }, { Authorization: "Bearer two" }],
    variants: { slow: { headers: { "X-Slow-Ms": String(slowMs) }, ms: slowMs } },
  });
  const { results } = await conform(description, { only: conformIds });
  return conformIds.filter((id) => results.find((each) => each.id === id)?.outcome !== "passed");
}

async function failuresOf(server: Server, place: Place): Promise<readonly string[]> {
  const all: Running[] = [];
  const another = async (): Promise<Running> => {
    const running = await startServer(server, place);
    all.push(running);
    return running;
  };
  try {
    const first = await another();
    const processes = server.store === "memory" ? [first] : [first, await another()];
    // Peers have other markers and problem types; `npm run bench -- conform-peers.ts` looks at all they do.
    const failures = server.peer === true ? [] : [...(await conformFailures(first))];
    for (const [id, passes] of ownCases)
      if ((await passes({ server, processes, another })) === false) failures.push(id);
    return failures;
  } finally {
    for (const { child } of all) child.end();
  }
}

export async function check(servers: readonly Server[]): Promise<void> {
  const services = new Services();
  try {
    for (const server of servers.filter(({ store }) => store !== "none")) {
      const missing = await services.whyMissing(server);
      if (missing !== undefined) {
        console.log(`SKIPPED ${server.name}: ${missing}`);
        continue;
      }
      const failures = await failuresOf(server, await services.placeOf(server));
      console.log(`${server.name}: ${failures.length === 0 ? "passes all" : `fails ${failures.join(", ")}`}`);
      const known = server.fails ?? "";
      if (failures.join(", ") !== known) {
        console.log(`  catalogue.ts says: ${known === "" ? "passes all" : `fails ${known}`}`);
        process.exitCode = 1;
      }
    }
  } finally {
    await services.close();
  }
}
