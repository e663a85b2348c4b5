/** What the file is like, as `doctor` tells it; and the notes of engines. */
import { engineNoteKeptMs } from "../../core/contract/engine-note.ts";
import { findingOf, type Finding } from "../../core/contract/finding.ts";
import type { Store } from "../../core/contract/store.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import type { Synchronous } from "./durability.ts";
import { integer, text } from "./row.ts";
import type { Session } from "./session.ts";
import type { WriteQueue } from "./write-queue.ts";

export interface InspectionParts {
  readonly session: Session;
  /** Works on a file without tables too. */
  readonly bare: WriteQueue;
  readonly synchronous: Synchronous;
}

function findingsOf({ session: { connection }, synchronous }: InspectionParts): Finding[] {
  if (connection.file === "") {
    const what = "the SQLite database is in memory: a restart forgets every key";
    return [findingOf("not-durable", what, 'open a file, such as openSqliteStore({ file: "keys.db" })')];
  }
  if (synchronous !== "normal") return [];
  const what = "synchronous is normal: a power cut forgets the newest keys";
  return [findingOf("not-durable", what, 'leave the store\'s option synchronous at "full"')];
}

export function createInspection(parts: InspectionParts): Required<Pick<Store, "inspect" | "noteEngine" | "engines">> {
  const { session, bare } = parts;
  const { connection, statements, queue } = session;
  const keptUs = usOf(engineNoteKeptMs);
  return {
    inspect: () =>
      bare.read(() => ({
        server: `SQLite ${text(connection.get("SELECT sqlite_version() AS version") ?? {}, "version")}`,
        ...("isTransaction" in connection.database ? {} : { driver: "better-sqlite3" }),
        nowMs: toMs(session.nowUs()),
        findings: findingsOf(parts),
      })),
    noteEngine: ({ engine, text: note }) =>
      queue.write(
        () => {
          const nowUs = session.nowUs();
          connection.run(statements.noteEngine, engine, note, nowUs);
          connection.run(statements.forgetEngines, nowUs - keptUs);
        },
        { mayBeLost: true },
      ),
    engines: () =>
      queue.read(() => {
        const nowUs = session.nowUs();
        return connection.all(statements.engines, nowUs - keptUs).map((row) => ({
          engine: text(row, "engine"),
          text: text(row, "note"),
          ageMs: Math.max(0, toMs(nowUs - integer(row, "noted_us"))),
        }));
      }),
  };
}
