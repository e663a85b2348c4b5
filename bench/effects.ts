/**
 * What a recorded step and a joined transaction cost, beside what they cannot cost less than and beside a step of DBOS, in
 * turns of one run:
 *
 *     npm run bench -- effects.ts [postgres://postgres@127.0.0.1:5432/postgres] [rounds]
 *
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { randomUUID } from "node:crypto";
import { loadavg } from "node:os";
import { createIchido } from "ichido";
import type { Context, Ichido, TransactionHandle } from "ichido";
import { type Bed, postgresBed, sqliteBed, stockRows } from "./effects-beds.ts";
import { quantile, rate } from "./measure.ts";

const server = process.argv[2] ?? "postgres://postgres@127.0.0.1:5432/postgres";
const rounds = Number(process.argv[3] ?? 150);
const warmUps = 30;
const stepsEach = 10;
const callers = 8;
const turnMs = 2_500;
const pairs = 3;
const encoder = new TextEncoder();

/** The least that a business transaction can be: one insert. */
function insertOrder(handle: TransactionHandle): Promise<unknown> {
  const places = handle.dialect === "postgres" ? "$1, $2" : "?, ?";
  return handle.execute(`INSERT INTO orders (id, amount) VALUES (${places})`, [randomUUID(), 1_999]);
}

/** A small real one: an order, two lines, and the stock of what was ordered. */
async function placeOrder(handle: TransactionHandle): Promise<void> {
  const places = (count: number): string =>
    Array.from({ length: count }, (_, place) => (handle.dialect === "postgres" ? `$${place + 1}` : "?")).join(", ");
  const order = randomUUID();
  await handle.execute(`INSERT INTO orders (id, amount) VALUES (${places(2)})`, [order, 1_999]);
  for (const line of [1, 2]) {
    await handle.execute(`INSERT INTO order_lines (order_id, line, amount) VALUES (${places(3)})`, [order, line, 999]);
  }
  await handle.execute(`UPDATE stock SET left_over = left_over - 1 WHERE id = ${places(1)}`, [
    Math.floor(Math.random() * stockRows),
  ]);
}

/** One request with a key of its own, as an adapter would bring it. */
function requester(ichido: Ichido, mode: "lease" | "transaction") {
  const route = ichido.route({ operation: "order.create", mode });
  return async (handler: (context: Context) => Promise<unknown>): Promise<void> => {
    const key = randomUUID();
    const decision = await ichido.decide(
      {
        method: "POST",
        target: "/orders",
        headerLines: (name) => (name === "idempotency-key" ? [key] : ["application/json"]),
        body: async () => ({ kind: "bytes", bytes: encoder.encode('{"amount":1999}') }),
        native: undefined,
      },
      route,
    );
    if (decision.kind !== "execute") throw new Error(`expected to run, got ${decision.kind}`);
    await handler(decision.execution.context);
    await decision.execution.settle({
      kind: "answered",
      response: { status: 201, headers: [], body: encoder.encode("{}") },
    });
  };
}

function ichidoOn({ store, runner }: Bed): Ichido {
  return createIchido({
    store,
    transactions: runner,
    dangerouslyShareKeys: true,
    onUnknown: "rerun",
    sweepMs: "off",
    onEvent: () => {},
  });
}

/** Ten of each in a row, less what the same costs without them. The lower fifth: the rest measures the neighbours. */
async function measureSteps(bed: Bed, ichido: Ichido): Promise<void> {
  const request = requester(ichido, "lease");
  const dbos = await bed.dbos?.(stepsEach);
  const subjects: Record<string, () => Promise<unknown>> = {
    inserts: async () => {
      for (let insert = 0; insert < stepsEach; insert += 1) await bed.keyedInsert();
    },
    empty: () => request(async () => undefined),
    steps: () =>
      request(async (context) => {
        for (let step = 0; step < stepsEach; step += 1) await context.step(`call ${step}`, () => "ch_1");
      }),
    ...(dbos && { dbosEmpty: () => dbos.empty(), dbosSteps: () => dbos.steps() }),
  };
  const times = new Map(Object.keys(subjects).map((name) => [name, [] as number[]]));
  // One round of each after the other, so that a busy moment is busy for all of them.
  for (let round = -warmUps; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(subjects)) {
      const from = performance.now();
      await run();
      if (round >= 0) times.get(name)?.push(performance.now() - from);
    }
  }
  await dbos?.close();
  const of = (name: string): number => quantile(times.get(name) ?? [], 0.2);
  const insertMs = of("inserts") / stepsEach;
  const stepMs = (of("steps") - of("empty")) / stepsEach;
  console.log(`\n${bed.name}: steps, one caller, lower fifth of ${rounds} rounds`);
  console.log(`  keyed insert by hand   ${insertMs.toFixed(3)} ms`);
  console.log(`  ctx.step               ${stepMs.toFixed(3)} ms = ${(stepMs / insertMs).toFixed(2)} keyed inserts`);
  if (dbos === undefined) return;
  const dbosMs = (of("dbosSteps") - of("dbosEmpty")) / stepsEach;
  console.log(`  DBOS.runStep           ${dbosMs.toFixed(3)} ms = ${(dbosMs / insertMs).toFixed(2)} keyed inserts`);
  console.log(`  ctx.step / DBOS.runStep ${(stepMs / dbosMs).toFixed(2)}`);
}

/** Alternating turns on one pool. Each ratio is of two turns side by side; the best pair was disturbed least. */
async function measureTransactions(
  bed: Bed,
  ichido: Ichido,
  title: string,
  business: (handle: TransactionHandle) => Promise<unknown>,
): Promise<void> {
  const ordering = (context: Context): Promise<unknown> =>
    context.transaction(async (_tx, handle) => {
      await business(handle);
      return { status: 201, body: {} };
    });
  const transaction = requester(ichido, "transaction");
  const lease = requester(ichido, "lease");
  const subjects: Readonly<Record<string, () => Promise<void>>> = {
    "by hand": async () => void (await bed.runner.run((_tx, handle) => business(handle))),
    "transaction mode": () => transaction(ordering),
    "lease mode, ctx.transaction": () => lease(ordering),
  };
  const rates = new Map(Object.keys(subjects).map((name) => [name, [] as number[]]));
  for (const run of Object.values(subjects)) await rate(callers, turnMs / 5, run);
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const [name, run] of Object.entries(subjects)) rates.get(name)?.push(await rate(callers, turnMs, run));
  }
  console.log(`\n${bed.name}: transactions of ${title}, ${callers} callers, ${pairs} turns of ${turnMs} ms each`);
  const bare = rates.get("by hand") ?? [];
  for (const [name, measured] of rates) {
    const shares = measured.map((each, pair) => each / (bare[pair] ?? Number.NaN));
    const all = shares.map((share) => share.toFixed(2)).join(", ");
    console.log(
      `  ${name.padEnd(28)} best ${Math.max(...measured).toFixed(0)}/s, share of by hand: ` +
        `${Math.max(...shares).toFixed(2)} (${all})`,
    );
  }
}

for (const open of [() => postgresBed(server), () => postgresBed(server, { prepare: false }), sqliteBed]) {
  const bed = await open();
  const ichido = ichidoOn(bed);
  try {
    await measureSteps(bed, ichido);
    await measureTransactions(bed, ichido, "one insert", insertOrder);
    await measureTransactions(bed, ichido, "an order, two lines and their stock", placeOrder);
  } finally {
    await ichido.close();
    await bed.close();
  }
}
console.log(
  `\nload average ${loadavg()
    .map((load) => load.toFixed(1))
    .join(" ")}`,
);
