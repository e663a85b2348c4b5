/**
 * Real servers for tests.
 *
 * Shared servers, found or started once a run: `await postgresUrl()` and its siblings. They belong to everybody: take a
 * database from `freshDatabase`, a prefix, stream or queue name from `uniqueName`, and never stop or reconfigure them.
 *
 * Private servers, for crashes: `await startPostgres()` and its siblings; `kill`, `pause`, `restart` them at will and
 * `stop` them in the end. Whatever is forgotten is ended and removed with the worker.
 *
 * `describeWith("postgres", title, (url) => …)` skips loudly where a server cannot be had; where servers are required
 * (CI=true or REQUIRE_SERVICES=1) it fails instead.
 */
import { describe, test } from "vitest";
import { findService } from "../../scripts/services/find.ts";
import type { SharedName } from "../../scripts/services/find.ts";
import { hostVariable } from "../../scripts/services/host.ts";
import type { Answer } from "../../scripts/services/host.ts";
import { install, isInstalled } from "../../scripts/services/install.ts";
import type { ServiceName } from "../../scripts/services/install.ts";
import * as mariadb from "../../scripts/services/mariadb.ts";
import * as nats from "../../scripts/services/nats.ts";
import * as pgbouncer from "../../scripts/services/pgbouncer.ts";
import * as postgres from "../../scripts/services/postgres.ts";
import * as rabbitmq from "../../scripts/services/rabbitmq.ts";
import * as redis from "../../scripts/services/redis.ts";

export type { Instance } from "../../scripts/services/instance.ts";
export type { RedisCluster } from "../../scripts/services/redis.ts";
export { freshDatabase } from "./databases.ts";
export type { FreshDatabase } from "./databases.ts";
export { uniqueName } from "./unique-name.ts";

export class ServiceMissing extends Error {
  override readonly name = "ServiceMissing";
}

export function servicesRequired(): boolean {
  return process.env["CI"] === "true" || process.env["REQUIRE_SERVICES"] === "1";
}

async function ask(path: string): Promise<Answer | undefined> {
  const host = process.env[hostVariable];
  if (host === undefined) return undefined;
  return (await (await fetch(`${host}/${path}`)).json()) as Answer;
}

async function sharedUrl(name: SharedName): Promise<string> {
  const answer = (await ask(`shared/${name}`)) ?? (await findService(name, (line) => console.log(line)));
  if (!("reason" in answer)) return answer.url;
  throw new ServiceMissing(`no ${name} for tests: ${answer.reason}`);
}

export const postgresUrl = (): Promise<string> => sharedUrl("postgres");
export const mariadbUrl = (): Promise<string> => sharedUrl("mariadb");
export const redisUrl = (): Promise<string> => sharedUrl("redis");
export const natsUrl = (): Promise<string> => sharedUrl("nats");
export const amqpUrl = (): Promise<string> => sharedUrl("rabbitmq");

async function ensureInstalled(name: ServiceName): Promise<void> {
  if (isInstalled(name)) return;
  const answer = await ask(`installed/${name}`);
  if (answer === undefined) await install([name], (line) => console.log(line));
  else if ("reason" in answer) throw new ServiceMissing(answer.reason);
}

function privately<Args extends unknown[], Result>(name: ServiceName, start: (...args: Args) => Promise<Result>) {
  return async (...args: Args): Promise<Result> => {
    await ensureInstalled(name);
    return start(...args);
  };
}

export const startPostgres = privately("postgres", postgres.startPostgres);
export const startStandby = privately("postgres", postgres.startStandby);
export const startMariadb = privately("mariadb", mariadb.startMariadb);
export const startRedis = privately("redis", redis.startRedis);
export const startRedisCluster = privately("redis", redis.startRedisCluster);
export const startPgbouncer = privately("pgbouncer", pgbouncer.startPgbouncer);
export const startNats = privately("nats", nats.startNats);
export const startRabbitmq = privately("rabbitmq", rabbitmq.startRabbitmq);

/** Needed as programs: nothing of them is shared. */
const programNames = ["pgbouncer", "spin", "promtool", "browser"] as const;
type ProgramName = (typeof programNames)[number];

const isProgram = (name: SharedName | ProgramName): name is ProgramName =>
  programNames.some((program) => program === name);

async function whyMissing(name: SharedName | ProgramName): Promise<{ url: string } | { reason: string }> {
  try {
    if (!isProgram(name)) return { url: await sharedUrl(name) };
    await ensureInstalled(name);
    return { url: "" };
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** A `describe` that needs shared servers; the suite gets their addresses in the order asked (empty for programs). */
export function describeWith<const Names extends readonly (SharedName | ProgramName)[]>(
  names: Names | Names[number],
  title: string,
  suite: (...urls: { [Index in keyof Names]: string }) => void | Promise<void>,
): void {
  describe(title, async () => {
    const answers = await Promise.all([names].flat().map((name) => whyMissing(name as Names[number])));
    const reasons = answers.flatMap((answer) => ("reason" in answer ? [answer.reason] : []));
    if (reasons.length === 0) {
      await suite(
        ...(answers.map((answer) => ("url" in answer ? answer.url : "")) as { [Index in keyof Names]: string }),
      );
    } else if (servicesRequired()) {
      test(`needs ${String(names)}`, () => {
        throw new ServiceMissing(reasons.join("; "));
      });
    } else {
      test.skip(`SKIPPED: ${reasons.join("; ")}`, () => {});
    }
  });
}
