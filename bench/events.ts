/**
 * What events cost and how fast they flow, beside hand-written minimums and published libraries, in turns of one run:
 *
 *     npm run bench:events [-- part …]        parts: enqueue inbox relay claims latency pipe brokers consume
 *
 * Servers: POSTGRES_URL, MARIADB_URL, NATS_URL, AMQP_URL, REDIS_URL, or those on the usual ports. Read the ratios.
 */
import { loadavg } from "node:os";
import { benchBrokers } from "./events/brokers.ts";
import { benchClaims } from "./events/claims.ts";
import { benchConsume } from "./events/consume.ts";
import { benchEnqueue } from "./events/enqueue.ts";
import { benchInbox } from "./events/inbox.ts";
import { benchLatency } from "./events/latency.ts";
import { benchPipe } from "./events/pipe.ts";
import { benchRelay } from "./events/relay.ts";

const postgres = process.env["POSTGRES_URL"] ?? "postgres://postgres@127.0.0.1:5432/postgres";
const mariadb = process.env["MARIADB_URL"] ?? "mysql://root@127.0.0.1:3306";
const nats = process.env["NATS_URL"] ?? "nats://127.0.0.1:4222";
const amqp = process.env["AMQP_URL"] ?? "amqp://guest:guest@127.0.0.1:5672";
const redis = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const rows = Number(process.env["BENCH_ROWS"] ?? 20_000);
const turnMs = Number(process.env["BENCH_TURN_MS"] ?? 2_500);
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3);

const parts: Readonly<Record<string, () => Promise<void>>> = {
  enqueue: () => benchEnqueue(postgres, turnMs),
  inbox: () => benchInbox(postgres, turnMs),
  relay: () => benchRelay(postgres, rows, rounds),
  claims: () => benchClaims(postgres, mariadb, rounds),
  latency: () => benchLatency(postgres, turnMs),
  pipe: () => benchPipe({ postgres, nats, amqp, redis }, Math.ceil(rows / 2), rounds),
  brokers: () => benchBrokers(nats, amqp, Math.ceil(rows / 4), rounds),
  consume: () => benchConsume({ postgres, nats, amqp, redis }, Math.ceil(rows / 4), rounds),
};

const asked = process.argv.slice(2);
console.log(
  `load average at the start: ${loadavg()
    .map((each) => each.toFixed(1))
    .join(" ")}`,
);
for (const [name, run] of Object.entries(parts)) if (asked.length === 0 || asked.includes(name)) await run();
console.log(
  `load average at the end: ${loadavg()
    .map((each) => each.toFixed(1))
    .join(" ")}`,
);
process.exit(0);
