/**
 * What a server must be like, looked at before the first call, after a failure and by every `ping`: on the only server,
 * or on every master of a cluster.
 */
import { IchidoError } from "../../core/contract/errors.ts";
import { failureKind } from "../../drivers/redis/failures.ts";
import type { Link, ServerLink } from "../../drivers/redis/link.ts";
import { listOf, textOf } from "../../drivers/redis/reply.ts";

export const versionMin = [6, 2] as const;

export type WarningCode =
  | "ICHIDO_REDIS_NOT_PERSISTENT"
  | "ICHIDO_REDIS_UNCHECKED"
  | "ICHIDO_REDIS_EVICTED"
  | "ICHIDO_REDIS_EVICTION_ALLOWED";

export interface Health {
  check(): Promise<void>;
}

/** Each warning once for each server, however many stores of this process are on it. */
const warned = new Set<string>();
const warnedMax = 1_000;

export function createHealth(link: Link, allowEviction: boolean): Health {
  /** By run id, because a restarted server counts from zero. */
  const evicted = new Map<string, number>();

  function warn(run: string, code: WarningCode, message: string): void {
    const mark = `${run} ${code}`;
    if (warned.has(mark) || warned.size >= warnedMax) return;
    warned.add(mark);
    process.emitWarning(message, { type: "IchidoWarning", code });
  }

  async function checkServer(server: ServerLink): Promise<void> {
    const info = await infoOf(server);
    if (info === undefined) {
      warn(
        "",
        "ICHIDO_REDIS_UNCHECKED",
        "redisStore could not look at the server (INFO is forbidden for this account): see to it yourself that " +
          "maxmemory-policy is noeviction, that it is a master of version 6.2 or later, and that it is persistent.",
      );
      return;
    }
    refuseReplica(info);
    refuseOld(info);
    checkEviction(info);
    if (info.get("aof_enabled") === "0") await checkSnapshots(server, info.get("run_id") ?? "");
  }

  function checkEviction(info: ReadonlyMap<string, string>): void {
    const run = info.get("run_id") ?? "";
    const policy = info.get("maxmemory_policy");
    if (policy !== undefined && policy !== "noeviction") {
      if (!allowEviction) {
        throw new IchidoError(
          "store-unavailable",
          `Redis: maxmemory-policy is ${policy}, so the server may drop keys and an operation may run twice; set it to ` +
            "noeviction, or accept the risk with dangerouslyAllowEviction",
        );
      }
      warn(
        run,
        "ICHIDO_REDIS_EVICTION_ALLOWED",
        `redisStore runs with maxmemory-policy ${policy}: a key that Redis drops runs its operation again.`,
      );
    }
    const count = Number(info.get("evicted_keys") ?? 0);
    const before = evicted.get(run);
    evicted.set(run, count);
    if (before !== undefined && count > before) {
      warn(
        run,
        "ICHIDO_REDIS_EVICTED",
        `Redis dropped ${count - before} keys for lack of memory since the last look; if keys of ichido were among them, ` +
          "their operations may run twice.",
      );
    }
  }

  async function checkSnapshots(server: ServerLink, run: string): Promise<void> {
    const save = await snapshotsOf(server);
    if (save === undefined) {
      warn(
        run,
        "ICHIDO_REDIS_UNCHECKED",
        "redisStore: appendonly is off, and whether snapshots are taken could not be looked at (CONFIG is forbidden): a " +
          "restart of the server may forget keys, and their operations may run twice.",
      );
      return;
    }
    if (save === "") {
      warn(
        run,
        "ICHIDO_REDIS_NOT_PERSISTENT",
        "redisStore: appendonly is off and save is empty, so a restart of the server forgets every key and operations may " +
          "run twice. Set appendonly yes (and appendfsync always to lose nothing).",
      );
    }
  }

  return {
    async check() {
      await Promise.all((await link.servers()).map(checkServer));
    },
  };
}

function refuseReplica(info: ReadonlyMap<string, string>): void {
  const role = info.get("role");
  if (role === undefined || role === "master") return;
  throw new IchidoError("store-unavailable", `Redis: the server's role is ${role}; connect to the master`);
}

export function isOld(info: ReadonlyMap<string, string>): boolean {
  const version = info.get("redis_version") ?? "";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return version !== "" && (major < versionMin[0] || (major === versionMin[0] && minor < versionMin[1]));
}

function refuseOld(info: ReadonlyMap<string, string>): void {
  if (!isOld(info)) return;
  throw new IchidoError(
    "store-unavailable",
    `Redis: the server is version ${info.get("redis_version")}; at least ${versionMin.join(".")} is needed`,
  );
}

export async function infoOf(server: ServerLink): Promise<ReadonlyMap<string, string> | undefined> {
  let text: string;
  try {
    text = textOf(await server.send(["info"]));
  } catch (error) {
    if (failureKind(error) === "refused") return undefined;
    throw error;
  }
  return new Map(
    text.split("\r\n").flatMap((line) => {
      const colon = line.indexOf(":");
      return colon <= 0 ? [] : [[line.slice(0, colon), line.slice(colon + 1)] as const];
    }),
  );
}

/** The setting `save`; undefined where CONFIG is forbidden. */
export async function snapshotsOf(server: ServerLink): Promise<string | undefined> {
  try {
    return textOf(pairsOf(await server.send(["config", "get", "save"])).get("save") ?? "");
  } catch (error) {
    if (failureKind(error) === "refused") return undefined;
    throw error;
  }
}

/** A map comes as a list of names and values, as an object or as a Map, by driver and protocol. */
function pairsOf(reply: unknown): ReadonlyMap<string, unknown> {
  if (reply instanceof Map) return new Map([...reply].map(([name, value]) => [textOf(name), value]));
  if (!Array.isArray(reply) && typeof reply === "object" && reply !== null) return new Map(Object.entries(reply));
  const parts = listOf(reply);
  return new Map(parts.flatMap((name, at) => (at % 2 === 0 ? [[textOf(name), parts[at + 1]] as const] : [])));
}
