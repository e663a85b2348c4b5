/**
 * Whether the sweeper keeps up: new keys at a fixed rate on PostgreSQL, each kept for a few seconds, by one engine that also
 * sweeps. Prints how many expired records wait, every five seconds, and fails where they pile up.
 *
 *     npm run bench -- sweep-rate.ts [keys a second, 2000] [seconds, 60]
 */
import { setTimeout as sleep } from "node:timers/promises";
import { createIchido } from "ichido";
import { postgresStore } from "ichido/postgres";
import { startPostgres } from "../scripts/services/postgres.ts";
import { openPostgres } from "./http/drivers.ts";
import { familyUs } from "./http/proc.ts";
import { surroundings } from "./http/surroundings.ts";

const [perSecond = 2_000, seconds = 60] = process.argv.slice(2).map(Number);
const retentionMs = 10_000;
const sweepMs = 2_000;
/** Three sweeps' worth may wait. */
const backlogMax = (3 * perSecond * sweepMs) / 1_000;
const turnMs = 20;

const server = await startPostgres({ settings: { shared_buffers: "256MB", max_wal_size: "4GB" } });
const pool = await openPostgres(server.url);
const store = postgresStore(pool);
await store.migrate();
let swept = 0;
const ichido = createIchido({
  store,
  scope: () => ({ principal: "bench" }),
  onUnknown: "rerun",
  retentionMs,
  sweepMs,
  onEvent: (event) => {
    if (event.type === "sweep") swept += event.deleted;
  },
});
await ichido.start();

let [made, open, failed] = [0, 0, 0];
function make(): void {
  made += 1;
  open += 1;
  const request = { operation: "bench", scope: { principal: "bench" }, key: `key-${made}`, input: { amount: made } };
  ichido
    .run(request, () => ({ id: made, note: "x".repeat(100) }))
    .catch(() => (failed += 1))
    .finally(() => (open -= 1));
}

async function waiting(): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(
    "select count(*) as count from ichido_records where expires_at <= clock_timestamp()",
  );
  return Number(rows[0]?.count);
}

try {
  const { date, machine, loadBefore } = surroundings("bench");
  console.log(`${date}; ${machine}; load average before ${loadBefore.toFixed(1)}; ${perSecond} new keys a second`);
  console.log("| seconds | made | swept | expired and there | CPU of PostgreSQL |\n|---|---|---|---|---|");
  const startMs = performance.now();
  const spentUs = (): number => familyUs(server.pid ?? 0) ?? 0;
  const cpuUs = spentUs();
  let [most, nextMs] = [0, 5_000];
  for (let nowMs = 0; nowMs < seconds * 1_000; nowMs = performance.now() - startMs) {
    while (made < (nowMs / 1_000) * perSecond) make();
    if (nowMs >= nextMs) {
      const count = await waiting();
      if (nowMs > retentionMs + 2 * sweepMs) most = Math.max(most, count);
      const cores = (spentUs() - cpuUs) / 1_000 / nowMs;
      console.log(`| ${Math.round(nowMs / 1_000)} | ${made} | ${swept} | ${count} | ${cores.toFixed(2)} cores |`);
      nextMs += 5_000;
    }
    await sleep(turnMs);
  }
  const isKept = most <= backlogMax && failed === 0;
  console.log(`most expired records at once: ${most} (bound ${backlogMax}); ${failed} failed, ${open} under way`);
  if (!isKept) process.exitCode = 1;
} finally {
  await ichido.close();
  await store.close();
  await pool.end();
  await server.stop();
}
