/**
 * Finds a server for tests to share, first match wins: the address in the service's variable; a server that answers on
 * the default port with the conventional account; a private instance; the same after installing it. Found servers are
 * shared with others: tests use a database, prefix, stream or queue of their own in them and never stop or reconfigure them.
 */
import { answersAmqp, answersMariadb, answersNats, answersPostgres, answersRedis } from "./handshakes.ts";
import { install, isInstalled } from "./install.ts";
import type { Instance } from "./instance.ts";
import { startMariadb } from "./mariadb.ts";
import { startNats } from "./nats.ts";
import { startPostgres } from "./postgres.ts";
import { startRabbitmq } from "./rabbitmq.ts";
import { startRedis } from "./redis.ts";

export const sharedNames = ["postgres", "mariadb", "redis", "nats", "rabbitmq"] as const;
export type SharedName = (typeof sharedNames)[number];

export type Found =
  | { readonly url: string; readonly how: string }
  | { readonly url: string; readonly how: string; readonly instance: Instance }
  | { readonly url?: never; readonly reason: string };

interface Shared {
  readonly variable: string;
  readonly conventional: string;
  readonly answers: (url: string) => Promise<boolean>;
  readonly start: () => Promise<Instance>;
}

const shared: Readonly<Record<SharedName, Shared>> = {
  postgres: {
    variable: "POSTGRES_URL",
    conventional: "postgres://postgres@127.0.0.1:5432/postgres",
    answers: answersPostgres,
    start: startPostgres,
  },
  mariadb: {
    variable: "MARIADB_URL",
    conventional: "mysql://root@127.0.0.1:3306/mysql",
    answers: answersMariadb,
    start: startMariadb,
  },
  redis: {
    variable: "REDIS_URL",
    conventional: "redis://127.0.0.1:6379",
    answers: answersRedis,
    start: startRedis,
  },
  nats: {
    variable: "NATS_URL",
    conventional: "nats://127.0.0.1:4222",
    answers: answersNats,
    start: startNats,
  },
  rabbitmq: {
    variable: "AMQP_URL",
    conventional: "amqp://guest:guest@127.0.0.1:5672",
    answers: answersAmqp,
    start: startRabbitmq,
  },
};

export async function findService(name: SharedName, say: (line: string) => void): Promise<Found> {
  const { variable, conventional, answers, start } = shared[name];
  const explicit = process.env[variable];
  if (explicit !== undefined && explicit !== "") {
    // An address that was given and does not work is a mistake to report, never a reason to look elsewhere.
    const works = await answers(explicit).catch((error: unknown) => String(error));
    return works === true
      ? { url: explicit, how: variable }
      : { reason: `${variable} is set, but the server there does not answer (${String(works)})` };
  }
  if (process.env["ICHIDO_PRIVATE_SERVICES"] !== "1" && (await answers(conventional).catch(() => false))) {
    return { url: conventional, how: "default port" };
  }
  try {
    if (!isInstalled(name)) await install([name], say);
    const instance = await start();
    return { url: instance.url, how: "private instance", instance };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}
