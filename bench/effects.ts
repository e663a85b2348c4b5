/**
 * What a recorded step and a joined transaction cost, beside what they cannot cost less than and beside a step of DBOS, in
 * turns of one run:
 *
 *     npm run bench -- effects.ts [postgres://postgres@127.0.0.1:5432/postgres] [rounds]
 *
 * Read the ratios; the figures themselves are those of one machine on one day.
 */
import { loadavg } from "node:os";
import { createIchido } from "ichido";
import type { Context, Ichido } from "ichido";
import { type Bed, postgresBed, sqliteBed } from "./effects-beds.ts";
import { quantile, rate } from "./measure.ts";
import { requester } from "./requester.ts";

const server = process.argv[2] ?? "postgres://postgres@127.0.0.1:5432/postgres";
const rounds = Number(process.argv[3] ?? 150);
const warmUps = 30;
const stepsEach = 10;
const crowd = 8;
const turnMs = 2_500;
const pairs = 3;

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
  title: keyof Bed["business"],
  callers: number,
): Promise<void> {
  const business = bed.business[title];
  const ordering = (context: Context): Promise<unknown> =>
    context.transaction(async (tx) => {
      await business(tx);
      return { status: 201, body: {} };
    });
  const transaction = requester(ichido, "transaction");
  const lease = requester(ichido, "lease");
  const subjects: Readonly<Record<string, () => Promise<void>>> = {
    "by hand": () => bed.byHand(business),
    "transaction mode": () => transaction(ordering),
    "lease mode, ctx.transaction": () => lease(ordering),
  };
  const rates = new Map(Object.keys(subjects).map((name) => [name, [] as number[]]));
  for (const run of Object.values(subjects)) await rate(callers, turnMs / 2, run);
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const [name, run] of Object.entries(subjects)) rates.get(name)?.push(await rate(callers, turnMs, run));
  }
  const many = callers === 1 ? "one caller" : `${callers} callers`;
  console.log(`\n${bed.name}: transactions of ${title}, ${many}, ${pairs} turns of ${turnMs} ms each`);
  const bare = rates.get("by hand") ?? [];
  for (const [name, measured] of rates) {
    const shares = measured.map((each, pair) => each / (bare[pair] ?? Number.NaN));
    const all = shares.map((share) => share.toFixed(2)).join(", ");
    console.log(
      `  ${name.padEnd(28)} best ${Math.max(...measured).toFixed(0)}/s, share of by hand: ` +
        `median ${quantile(shares, 0.5).toFixed(2)} (${all})`,
    );
  }
}

const beds = [
  () => postgresBed(server),
  () => postgresBed(server, { prepare: false }),
  () => sqliteBed(),
  () => sqliteBed({ shareCommits: true }),
];
for (const open of beds) {
  const bed = await open();
  const ichido = ichidoOn(bed);
  try {
    await measureSteps(bed, ichido);
    for (const callers of [crowd, 1]) {
      await measureTransactions(bed, ichido, "an order, two lines and their stock", callers);
      await measureTransactions(bed, ichido, "one insert", callers);
    }
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
