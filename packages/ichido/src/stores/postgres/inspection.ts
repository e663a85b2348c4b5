/** What the server is like, as `doctor` tells it; and the notes of engines. */
import { findingOf, type Finding } from "../../core/contract/finding.ts";
import type { Store } from "../../core/contract/store.ts";
import type { ClientKind } from "./client.ts";
import type { Connection, Row } from "./connection.ts";
import type { ResolvedOptions } from "./options.ts";
import { consequences, wrongBehindPooler } from "./pooler.ts";
import { flagOf, numberOf } from "./row.ts";
import type { Run } from "./run.ts";

/** The oldest line that its makers still mended when this was written. */
const versionMin = 140_000;

function settingsOf([version, number, standby, readOnly, commit, fsync, names, standbys]: Row): Finding[] {
  const found: Finding[] = [];
  if (numberOf(number) < versionMin) {
    found.push(
      findingOf("server-old", `PostgreSQL is version ${String(version)}`, "upgrade the server to 14 or later"),
    );
  }
  if (flagOf(standby) || flagOf(readOnly)) {
    const what = flagOf(standby) ? "the server is a hot standby" : "the session is read-only";
    const remedy = "connect to the primary, with default_transaction_read_only off";
    found.push(findingOf("server-read-only", what, remedy));
  }
  for (const [name, value] of [
    ["synchronous_commit", commit],
    ["fsync", fsync],
  ]) {
    if (value !== "off") continue;
    const what = `${String(name)} is off: a crash of the server forgets keys that were granted or answered`;
    const how = name === "fsync" ? "alter system set fsync = on" : "alter role … set synchronous_commit = on";
    found.push(findingOf("not-durable", what, how));
  }
  const isWaitedFor = names !== "" && commit !== "local" && commit !== "off";
  if (numberOf(standbys) > 0 && !isWaitedFor) {
    const what = `${numberOf(standbys)} standby(s) follow asynchronously: a failover forgets the newest keys`;
    const remedy = "alter system set synchronous_standby_names = 'ANY 1 (*)', with synchronous_commit at on or higher";
    found.push(findingOf("standby-asynchronous", what, remedy));
  }
  return found;
}

export function createInspection(
  run: Run,
  { client, connection, options }: { client: ClientKind; connection: Connection; options: ResolvedOptions },
): Required<Pick<Store, "inspect" | "noteEngine" | "engines">> {
  async function poolerFindings(): Promise<Finding[]> {
    const wrong = wrongBehindPooler(options);
    const isPooled = wrong.length > 0 && (await connection.isPooled?.(options.callTimeoutMs)) === true;
    if (!isPooled) return [];
    return wrong.map((name) =>
      findingOf(
        "pooler-session",
        `a pooler stands before the server, and ${consequences[name].what}`,
        consequences[name].remedy,
      ),
    );
  }

  return {
    async inspect() {
      const [row = []] = await run("inspect", "always", []);
      return {
        server: `PostgreSQL ${String(row[0])}`,
        driver: client.kind === "postgres-js" ? "postgres" : "pg",
        nowMs: numberOf(row[8]),
        findings: [...settingsOf(row), ...(await poolerFindings())],
      };
    },
    async noteEngine({ engine, text }) {
      await run("noteEngine", "always", [engine, text]);
    },
    async engines() {
      const rows = await run("engines", "always", []);
      return rows.map(([engine, text, ageMs]) => ({
        engine: String(engine),
        text: String(text),
        ageMs: numberOf(ageMs),
      }));
    },
  };
}
