/** A database of its own on the server that was named, and turns that alternate between subjects. */
import { randomBytes } from "node:crypto";
import { Client, Pool } from "pg";

export interface EventsBed {
  readonly url: string;
  readonly pool: Pool;
  close(): Promise<void>;
}

export async function openBed(server: string, connections = 10): Promise<EventsBed> {
  const name = `ichido_bench_${randomBytes(4).toString("hex")}`;
  const admin = new Client({ connectionString: server });
  await admin.connect();
  await admin.query(`create database ${name}`);
  const url = new URL(server);
  url.pathname = `/${name}`;
  const pool = new Pool({ connectionString: url.href, max: connections });
  pool.on("error", () => {});
  return {
    url: url.href,
    pool,
    async close() {
      await pool.end();
      await admin.query(`drop database ${name} with (force)`);
      await admin.end();
    },
  };
}

/** Every subject once a round, in turns; the best of its rounds, since disturbances only ever slow down. */
export async function bestOf<Name extends string>(
  rounds: number,
  subjects: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number>> {
  const best = Object.fromEntries(Object.keys(subjects).map((name) => [name, 0])) as Record<Name, number>;
  for (let round = 0; round < rounds; round += 1) {
    for (const name of Object.keys(subjects) as Name[]) best[name] = Math.max(best[name], await subjects[name]());
  }
  return best;
}

export const perSecond = (value: number): string => `${Math.round(value)}/s`;
export const ratio = (value: number, base: number): string => (base === 0 ? "-" : (value / base).toFixed(2));
