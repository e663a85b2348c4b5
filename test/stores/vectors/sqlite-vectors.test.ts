import { DatabaseSync } from "node:sqlite";
import { expect, describe, test } from "vitest";
import { sqliteStore } from "ichido/sqlite";
import { nodeSqliteTransactions } from "ichido/transactions";
import { encodeHeaders } from "../../../packages/ichido/src/stores/encoding.ts";
import { nowUs } from "./cases.ts";
import type { Bed, Placed } from "./check.ts";
import { answerOf, lyingOf, type Columns } from "./columns.ts";
import { joined } from "./joined.ts";
import { runJoined, runVectors } from "./run.ts";

const names = [
  "key",
  "scope_hash",
  "operation",
  "fingerprint_version",
  "fingerprint_raw",
  "fingerprint_canonical",
  "fingerprint_former",
  "state",
  "owner",
  "origin",
  "fence",
  "attempts",
  "doubt_stays",
  "lease_us",
  "steps_started",
  "hold_reason",
  "created_us",
  "updated_us",
  "expires_us",
  ...["interim", "response"].flatMap((each) => ["kind", "status", "headers", "body"].map((part) => `${each}_${part}`)),
];

type Value = string | number | Uint8Array | null;

function valuesOf({ identity, record }: Placed): Value[] {
  const { raw, canonical, former } = record.fingerprint;
  const answers = [record.interim, record.response].flatMap((answer): Value[] =>
    answer === undefined
      ? [null, null, null, null]
      : [answer.kind, answer.status, encodeHeaders(answer.headers), answer.body],
  );
  return [
    identity.key,
    identity.scopeHash,
    identity.operation,
    1,
    raw,
    canonical,
    former ?? null,
    record.state,
    record.owner,
    record.origin,
    record.fence,
    record.attempts,
    Number(record.doubtStays),
    record.leaseUs,
    record.stepsStarted,
    record.holdReason ?? null,
    record.createdUs,
    record.updatedUs,
    record.expiresUs,
    ...answers,
  ];
}

async function sqliteBed(database = new DatabaseSync(":memory:")): Promise<Bed> {
  const open = () => sqliteStore(database, { nowMs: () => nowUs / 1_000 });
  await open().migrate();
  return {
    async arrange(placed, tick) {
      const marks = names.map(() => "?").join(", ");
      const insert = database.prepare(`INSERT INTO ichido_records (${names.join(", ")}) VALUES (${marks})`);
      const insertStep = database.prepare(
        "INSERT INTO ichido_steps (key, scope_hash, name, ordinal, state, attempt, started_us, last_started_us, finished_us, result) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      );
      database.exec("BEGIN");
      for (const table of ["records", "steps", "audit", "clock"]) database.exec(`DELETE FROM ichido_${table}`);
      database.exec("UPDATE ichido_fence SET floor = 0");
      for (const each of placed) {
        insert.run(...valuesOf(each));
        for (const [index, step] of each.record.steps.entries()) {
          const { name, attempt, startedUs, lastStartedUs, finishedUs, result } = step;
          const state = finishedUs === undefined ? "started" : "finished";
          const { key, scopeHash } = each.identity;
          const times = [startedUs, lastStartedUs, finishedUs ?? null];
          insertStep.run(key, scopeHash, name, index + 1, state, attempt, ...times, result ?? null);
        }
      }
      if (tick !== undefined) {
        const { lastUs, intervalUs, steadySinceUs } = tick;
        const sql = "INSERT INTO ichido_clock (id, last_us, interval_us, steady_since_us) VALUES (1, ?, ?, ?)";
        database.prepare(sql).run(lastUs, intervalUs, steadySinceUs);
      }
      database.exec("COMMIT");
      return open();
    },
    async lying() {
      const rows = database.prepare("SELECT * FROM ichido_records").all() as Columns[];
      return new Map(
        rows.map((row) => {
          const answers = { interim: answerOf(row, "interim"), response: answerOf(row, "response") };
          return [String(row["key"]), { ...lyingOf(row), ...answers, hasSteps: Number(row["steps_started"]) > 0 }];
        }),
      );
    },
    async close() {
      database.close();
    },
  };
}

describe("SQLite by the record machine", () => {
  runVectors({ test, expect }, () => sqliteBed(), { judge: "the machine" });
  runJoined({ test, expect }, [
    {
      title: "claims and answers on a transaction",
      verbs: ["claim", "complete"],
      async open() {
        const database = new DatabaseSync(":memory:");
        return joined(await sqliteBed(database), { runner: nodeSqliteTransactions(database) });
      },
    },
  ]);
});
