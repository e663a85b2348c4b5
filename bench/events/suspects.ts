/**
 * How long what dead relays held takes to flow again: 1,000 suspects that leave in company of 25, as after a first death,
 * against the same number one by one, as after a third. Pairs of one run, alternating, PostgreSQL, a broker that answers
 * after two milliseconds:
 *
 *     npm run bench -- events/suspects.ts [pairs]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createOutbox, createRelay } from "ichido/outbox";
import { pgTransactions } from "ichido/transactions";
import { openBed } from "./bed.ts";
import { countingPublisher } from "./relay.ts";

const suspects = 1_000;
const answerMs = 2;
const pairs = Math.max(9, Number(process.argv[2] ?? 9));
const bed = await openBed(process.env["POSTGRES_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres");
const outbox = createOutbox({
  transactions: pgTransactions(bed.pool),
  source: "/bench",
  topics: { "*": { to: "broker" } },
});
await outbox.migrate();

/** Milliseconds until the last of them was sent. */
async function recovery(crashes: number): Promise<number> {
  await outbox.transaction(async (_tx, handle) => {
    for (let index = 0; index < suspects; index += 1)
      await outbox.add(handle, { topic: "order.paid", key: `k${index}`, payload: { index } });
  });
  await bed.pool.query("update ichido_outbox set crashes = $1", [crashes]);
  await bed.pool.query("vacuum analyze ichido_outbox");
  const publisher = countingPublisher({
    name: "broker",
    publish: async () => {
      await sleep(answerMs);
      return { outcome: "sent" };
    },
    close: async () => undefined,
  });
  const relay = createRelay(outbox, { routes: { broker: publisher } });
  const startMs = performance.now();
  await relay.start();
  await publisher.until(suspects);
  const tookMs = performance.now() - startMs;
  await relay.stop();
  const { pending } = await outbox.stats();
  if (pending !== 0) throw new Error(`${pending} events were left`);
  return tookMs;
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.floor(share * (sorted.length - 1))] ?? 0;

const ratios: number[] = [];
for (let pair = 0; pair < pairs; pair += 1) {
  // Whoever goes first meets the machine as the other one left it: turn and turn about.
  const first = pair % 2 === 0 ? 1 : 3;
  const times = new Map<number, number>();
  for (const crashes of [first, 4 - first]) times.set(crashes, await recovery(crashes));
  const [grouped = 0, single = 0] = [times.get(1), times.get(3)];
  ratios.push(single / grouped);
  console.log(`pair ${pair + 1}: in groups ${Math.round(grouped)} ms, one by one ${Math.round(single)} ms`);
}
const sorted = ratios.toSorted((some, other) => some - other);
const told = (share: number): string => quantile(sorted, share).toFixed(2);
console.log(`one by one / in groups over ${pairs} pairs: median ${told(0.5)}, lower quartile ${told(0.25)}`);
await bed.close();
