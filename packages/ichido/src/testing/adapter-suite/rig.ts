/** The servers of one case, on one store, and the checks of their answers. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { IchidoErrorCode } from "../../core/contract/errors.ts";
import type { IchidoEvent } from "../../core/contract/events.ts";
import type { Store } from "../../core/contract/store.ts";
import { ask, type Ask, type Reply } from "./client.ts";
import type { Gates } from "./gates.ts";
import type { HarnessOptions } from "./harness.ts";
import type { AdapterStore, AdapterSubject, ServerProcesses } from "./subject.ts";
import type { Tokens } from "./tokens.ts";

const closeMs = 500;
const atGateMs = 60_000;

export interface App {
  readonly port: number;
  readonly gates: Gates;
  readonly tokens: Tokens;
  readonly events: readonly IchidoEvent[];
  ask(options?: Ask): Promise<Reply>;
  effects(): number;
  /** Duplicates that wait for an answer now. */
  waiting(): Promise<number>;
  sweep(): Promise<{ readonly deleted: number; readonly guarded: boolean }>;
  close(): Promise<void>;
}

export type StartOptions = Partial<HarnessOptions> & {
  /** What the server sees in place of the store. */
  readonly wrap?: (store: Store) => Store;
};

export interface Rig {
  readonly subject: AdapterSubject;
  readonly store: Store;
  readonly second: Store;
  start(options?: StartOptions): Promise<App>;
  processes(): Promise<ServerProcesses>;
  committedEffects(): Promise<number>;
}

export async function withRig(subject: AdapterSubject, run: (rig: Rig) => Promise<void>): Promise<void> {
  const opened: AdapterStore = await subject.openStore();
  const apps: App[] = [];
  let processes: ServerProcesses | undefined;
  const rig: Rig = {
    subject,
    store: opened.store,
    second: opened.second ?? opened.store,
    async start({ wrap, ...options } = {}) {
      const store = options.store ?? opened.store;
      const running = await subject.start({
        transactional: opened.transactional,
        ...options,
        store: wrap === undefined ? store : wrap(store),
      });
      const { harness, port } = running;
      let closed: Promise<void> | undefined;
      const app: App = {
        port,
        gates: harness.gates,
        tokens: harness.tokens,
        events: harness.events,
        ask(asked = {}) {
          const reply = ask(port, asked);
          // A case that fails leaves requests behind that it no longer awaits; their errors must not count as further
          // failures.
          reply.catch(() => undefined);
          return reply;
        },
        effects: () => harness.effects.count(),
        waiting: async () => (await harness.ichido.health()).waiting,
        sweep: () => harness.ichido.sweep(),
        close: () => {
          harness.gates.openAll();
          // An engine that died at a fault point hangs at every later point, also in `close`.
          const handedOver = Promise.race([harness.ichido.close(), sleep(closeMs)]);
          closed ??= Promise.all([running.close(), handedOver]).then(() => undefined);
          return closed;
        },
      };
      apps.push(app);
      return app;
    },
    async processes() {
      assert.ok(subject.openProcesses !== undefined);
      processes ??= await subject.openProcesses();
      return processes;
    },
    async committedEffects() {
      assert.ok(opened.transactional !== undefined);
      return opened.transactional.count();
    },
  };
  try {
    await run(rig);
  } finally {
    await Promise.all(apps.map((app) => app.close()));
    await processes?.close();
    await opened.close();
  }
}

/** Records at work or in doubt. */
export async function unfinishedIn({ store }: Rig): Promise<number> {
  const { processing, unknown } = await store.stats();
  return processing + unknown;
}

/** A key that was never used, as the header value of a structured string. */
export function freshKey(): string {
  return `"${randomUUID()}"`;
}

/**
 * Sends a request again until its handler waits at the gate: on a busy machine a claim may take longer than a short
 * lease, and the engine then gives it back before the handler runs.
 */
export async function untilAtGate(app: App, options: Ask, gate: string): Promise<{ readonly reply: Promise<Reply> }> {
  const untilMs = performance.now() + atGateMs;
  for (;;) {
    const reply = app.ask({ ...options, plan: { ...options.plan, gate } });
    const arrival = app.gates.reached(gate).then(() => true);
    arrival.catch(() => undefined);
    if (await Promise.race([arrival, reply.then(() => false)])) return { reply };
    assertRefused(await reply, 409, "idempotency-in-flight");
    assert.ok(performance.now() < untilMs, `no handler at the gate ${gate} within ${atGateMs} ms`);
  }
}

/** Runs `inside` while the handler of the request waits at a gate of its own; then returns the handler's own answer. */
export async function whileRunning(app: App, options: Ask, inside: () => Promise<void>): Promise<Reply> {
  const gate = randomUUID();
  const running = app.ask({ ...options, plan: { ...options.plan, gate } });
  await app.gates.reached(gate);
  await inside();
  app.gates.open(gate);
  return assertExecuted(await running);
}

const markers = ["idempotency-replayed", "idempotent-replayed"];

function assertNoMarker(reply: Reply): void {
  for (const marker of markers) assert.equal(reply.header(marker), undefined, `no ${marker} on this answer`);
}

/** Asserts that the answer comes from the handler and is no replay. */
export function assertExecuted(reply: Reply, status = 201): Reply {
  assert.equal(reply.status, status, reply.body.toString().slice(0, 300));
  assertNoMarker(reply);
  return reply;
}

const representation = [
  "location",
  "etag",
  "last-modified",
  "link",
  "content-type",
  "content-length",
  "content-encoding",
];

export function assertReplayed(
  reply: Reply,
  first: Reply,
  options: { readonly status?: number; readonly marker?: string } = {},
): Reply {
  assert.equal(reply.status, options.status ?? first.status, reply.body.toString().slice(0, 300));
  assert.equal(reply.header(options.marker ?? "idempotency-replayed"), "true", "the marker of a replay");
  assert.ok(reply.body.equals(first.body), "the replayed body is the first one, byte for byte");
  for (const name of representation) assert.deepEqual(reply.lines(name), first.lines(name), name);
  return reply;
}

/** Asserts an answer of the layer itself: a problem document with its own type (RFC 9457). */
export function assertRefused(reply: Reply, status: number, code: IchidoErrorCode): Readonly<Record<string, unknown>> {
  assert.equal(reply.status, status, reply.body.toString().slice(0, 300));
  assert.match(reply.header("content-type") ?? "", /^application\/problem\+json\b/);
  assertNoMarker(reply);
  const problem = reply.json();
  assert.equal(problem["code"], code);
  assert.equal(problem["status"], status);
  assert.ok(URL.canParse(String(problem["type"])), "type is an absolute URI");
  if (problem["retryable"] === true) assert.match(reply.header("retry-after") ?? "", /^[1-9]\d*$/);
  return problem;
}
