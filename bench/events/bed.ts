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

export interface Measured {
  /** The best of its rounds, since disturbances only ever slow down. */
  readonly best: number;
  /** Its share of the first subject, in the round where that is greatest: both were measured side by side there. */
  readonly share: number;
}

/** Every subject once a round, in turns. */
export async function inTurns<Name extends string>(
  rounds: number,
  subjects: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, Measured>> {
  const names = Object.keys(subjects) as Name[];
  const measured = Object.fromEntries(names.map((name) => [name, { best: 0, share: 0 }])) as Record<Name, Measured>;
  for (let round = 0; round < rounds; round += 1) {
    let base: number | undefined;
    for (const name of names) {
      const rate = await subjects[name]();
      base ??= rate;
      const { best, share } = measured[name];
      measured[name] = { best: Math.max(best, rate), share: Math.max(share, rate / base) };
    }
  }
  return measured;
}

/** The best round of each. */
export async function bestOf<Name extends string>(
  rounds: number,
  subjects: Readonly<Record<Name, () => Promise<number>>>,
): Promise<Record<Name, number>> {
  const measured = await inTurns(rounds, subjects);
  const bests = Object.entries<Measured>(measured).map(([name, { best }]) => [name, best]);
  return Object.fromEntries(bests) as Record<Name, number>;
}

/** As `1234/s (0.56)`. */
export const told = ({ best, share }: Measured): string => `${Math.round(best)}/s (${share.toFixed(2)})`;
export const perSecond = (value: number): string => `${Math.round(value)}/s`;
export const ratio = (value: number, base: number): string => (base === 0 ? "-" : (value / base).toFixed(2));
