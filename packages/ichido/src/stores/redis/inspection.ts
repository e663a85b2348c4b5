/** What the servers are like, as `doctor` tells it; and the notes of engines. */
import { engineNoteKeptMs } from "../../core/contract/engine-note.ts";
import { findingOf, type Finding } from "../../core/contract/finding.ts";
import type { NotedEngine, Store } from "../../core/contract/store.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import type { Link, ServerLink } from "../../drivers/redis/link.ts";
import { listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import { infoOf, isOld, snapshotsOf, versionMin } from "./health.ts";
import type { Names } from "./names.ts";
import type { Replication } from "./replicas.ts";
import type { Scripts } from "./scripts.ts";

export interface InspectionParts {
  readonly link: Link;
  readonly scripts: Scripts;
  readonly names: Names;
  readonly driver: "ioredis" | "redis";
  readonly wait: Replication | undefined;
}

const enginesMax = 100;

type Info = ReadonlyMap<string, string>;

function memoryOf(info: Info): Finding[] {
  const policy = info.get("maxmemory_policy");
  if (policy === undefined || policy === "noeviction") return [];
  const what = `maxmemory-policy is ${policy}: the server may drop keys, and their operations run again`;
  return [findingOf("eviction", what, "config set maxmemory-policy noeviction, and in the server's file")];
}

async function persistenceOf(server: ServerLink, info: Info): Promise<Finding[]> {
  if (info.get("aof_enabled") !== "0") return [];
  const save = await snapshotsOf(server);
  if (save !== undefined && save !== "") {
    const what = `only snapshots are taken (save ${save}): a crash forgets the keys since the last one`;
    return [findingOf("not-persistent", what, "config set appendonly yes; appendfsync always loses nothing")];
  }
  const seen = save === undefined ? ", and whether snapshots are taken cannot be seen" : " and save is empty";
  const what = `appendonly is off${seen}: a restart of the server forgets keys`;
  return [findingOf("not-persistent", what, "config set appendonly yes; appendfsync always loses nothing")];
}

function replicasOf(info: Info, wait: Replication | undefined): Finding[] {
  const replicas = Number(info.get("connected_slaves") ?? 0);
  if (replicas === 0 || wait !== undefined) return [];
  const what = `${replicas} replica(s) follow asynchronously: a failover forgets the newest keys`;
  const remedy = "give redisStore the option wait, such as { replicas: 1, timeoutMs: 1000 }";
  return [findingOf("standby-asynchronous", what, remedy)];
}

async function findingsOf(server: ServerLink, wait: Replication | undefined): Promise<Finding[]> {
  const info = await infoOf(server);
  if (info === undefined) {
    const what = "INFO is forbidden for this account: eviction policy, persistence and replicas cannot be looked at";
    return [findingOf("settings-unseen", what, "acl setuser … +info +config|get, or look at them yourself")];
  }
  const found: Finding[] = [];
  const role = info.get("role");
  if (role !== undefined && role !== "master") {
    found.push(findingOf("server-read-only", `the server's role is ${role}`, "connect to the master"));
  }
  if (isOld(info)) {
    const what = `Redis is version ${info.get("redis_version") ?? "unknown"}`;
    found.push(findingOf("server-old", what, `upgrade the server to ${versionMin.join(".")} or later`));
  }
  return [...found, ...memoryOf(info), ...(await persistenceOf(server, info)), ...replicasOf(info, wait)];
}

function notesOf(reply: unknown): readonly NotedEngine[] {
  const [now, listed] = listOf(reply);
  const parts = listOf(listed);
  const fields = new Map(parts.flatMap((name, at) => (at % 2 === 0 ? [[textOf(name), textOf(parts[at + 1])]] : [])));
  const notes = [...fields].flatMap(([name, text]): NotedEngine[] => {
    const engine = name.slice(2);
    const notedUs = fields.get(`t:${engine}`);
    if (!name.startsWith("n:") || notedUs === undefined) return [];
    return [{ engine, text, ageMs: Math.max(0, toMs(numberOf(now) - numberOf(notedUs))) }];
  });
  return notes
    .filter(({ ageMs }) => ageMs <= engineNoteKeptMs)
    .toSorted((one, other) => one.ageMs - other.ageMs)
    .slice(0, enginesMax);
}

export function createInspection(parts: InspectionParts): Required<Pick<Store, "inspect" | "noteEngine" | "engines">> {
  const { link, scripts, names, driver, wait } = parts;
  return {
    async inspect() {
      const { nowMs, version, findings } = await scripts.repeatAnyway("inspect", true, {}, async () => {
        const servers = await link.servers();
        const found = await Promise.all(servers.map((server) => findingsOf(server, wait)));
        const [first] = servers;
        const [seconds, micros] = listOf(await first?.send(["time"]));
        const info = first === undefined ? undefined : await infoOf(first);
        return {
          nowMs: toMs(numberOf(seconds) * 1_000_000 + numberOf(micros)),
          version: info?.get("redis_version"),
          findings: found.flat(),
        };
      });
      const server = version === undefined ? "Redis" : `Redis ${version}`;
      return { server, driver, nowMs, findings };
    },
    async noteEngine({ engine, text }) {
      await scripts.run("noteEngine", names.engines, [engine, text, String(usOf(engineNoteKeptMs))]);
    },
    engines: async () => notesOf(await scripts.run("engines", names.engines, [])),
  };
}
