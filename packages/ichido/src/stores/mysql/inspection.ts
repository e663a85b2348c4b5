/** What the server is like, as `doctor` tells it; and the notes of engines. */
import { engineNoteKeptMs } from "../../core/contract/engine-note.ts";
import { findingOf, type Finding } from "../../core/contract/finding.ts";
import type { Store } from "../../core/contract/store.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { integerOf, type Row } from "./client.ts";
import type { Dialect } from "./dialect.ts";
import { binaryOf } from "./row.ts";
import type { Run, Session } from "./session.ts";
import { text } from "./values.ts";

/** The oldest lines that their makers still mended when this was written. */
const versionMin = { MariaDB: [10, 6], MySQL: [8, 0] } as const;

const isOff = (value: unknown): boolean => ["0", "OFF"].includes(String(value).toUpperCase());

function serverOf(row: Row): { readonly product: "MariaDB" | "MySQL"; readonly version: string } {
  const told = String(row["version"]);
  return { product: /mariadb/i.test(told) ? "MariaDB" : "MySQL", version: /^[\d.]+/.exec(told)?.[0] ?? told };
}

function settingsOf(row: Row): Finding[] {
  const { product, version } = serverOf(row);
  const found: Finding[] = [];
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin, minorMin] = versionMin[product];
  if (major < majorMin || (major === majorMin && minor < minorMin)) {
    const remedy = `upgrade the server to ${majorMin}.${minorMin} or later`;
    found.push(findingOf("server-old", `${product} is version ${version}`, remedy));
  }
  if (!isOff(row["read_only"]) || !isOff(row["innodb_read_only"])) {
    const what = "the server is read-only, perhaps a replica";
    found.push(findingOf("server-read-only", what, "connect to the primary"));
  }
  if (integerOf(row["flush_log"]) !== 1) {
    const what = `innodb_flush_log_at_trx_commit is ${String(row["flush_log"])}: a crash forgets the newest keys`;
    found.push(
      findingOf("not-durable", what, "set global innodb_flush_log_at_trx_commit = 1, and in the server's file"),
    );
  }
  if (!isOff(row["log_bin"]) && integerOf(row["sync_binlog"]) !== 1) {
    const what = `sync_binlog is ${String(row["sync_binlog"])}: a crash forgets keys that replicas then lack`;
    found.push(findingOf("not-durable", what, "set global sync_binlog = 1, and in the server's file"));
  }
  return found;
}

/** Either plugin's name, on the server that replicas read from; a server without the plugin knows neither. */
async function isSemiSynchronous(run: Run): Promise<boolean> {
  const { rows } = await run("show global variables like 'rpl_semi_sync_%_enabled'", []);
  return rows.some((row) => /master|source/.test(String(row["Variable_name"])) && !isOff(row["Value"]));
}

async function replicasOf(run: Run, row: Row): Promise<Finding[]> {
  const replicas = integerOf(row["replicas"]);
  if (replicas === 0 || (await isSemiSynchronous(run))) return [];
  const what = `${replicas} replica(s) follow asynchronously: a failover forgets the newest keys`;
  return [findingOf("standby-asynchronous", what, "turn on semi-synchronous replication (rpl_semi_sync_*_enabled)")];
}

export function createInspection(
  { session, call }: { readonly session: Pick<Session, "probe">; readonly call: () => Run },
  dialect: Dialect,
  driver: "mysql2" | "mariadb",
): Required<Pick<Store, "inspect" | "noteEngine" | "engines">> {
  const keptUs = usOf(engineNoteKeptMs);
  return {
    async inspect() {
      const [row = {} as Row] = (await dialect.send(session.probe, "inspect")).rows;
      const { product, version } = serverOf(row);
      return {
        server: `${product} ${version}`,
        driver,
        nowMs: toMs(integerOf(row["now_us"])),
        findings: [...settingsOf(row), ...(await replicasOf(session.probe, row))],
      };
    },
    async noteEngine(note) {
      const run = call();
      await dialect.send(run, "noteEngine", { engine: text("engine", note.engine), note: Buffer.from(note.text) });
      await dialect.send(run, "forgetEngines", { keptUs });
    },
    async engines() {
      const { rows } = await dialect.send(call(), "engines", { keptUs });
      return rows.map((row) => ({
        engine: Buffer.from(binaryOf(row["engine"])).toString(),
        text: Buffer.from(binaryOf(row["note"])).toString(),
        ageMs: Math.max(0, toMs(integerOf(row["age_us"]))),
      }));
    },
  };
}
