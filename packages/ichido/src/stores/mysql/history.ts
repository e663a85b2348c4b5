/** What a record knows beside its answer: the attempt log, suspected duplicates, resources and the audit. */
import { limits } from "../../core/contract/defaults.ts";
import type {
  AttemptBatch,
  AuditLogEntry,
  AuditNote,
  HistoryPage,
  HistoryQuery,
  LoggedAttempt,
  LogResult,
  Resource,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import type { Identity, Key } from "../../core/contract/record.ts";
import type { Claim } from "../../core/contract/store.ts";
import { forgottenLine } from "../../core/record-machine/forget.ts";
import {
  attemptsKept,
  looksAfterBound,
  ownersOf,
  runOf,
  withOwnRun,
  type ProcessName,
} from "../../core/record-machine/history.ts";
import { emptyReasons } from "../../core/record-machine/reasons.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { checkLimit, encodeHeaders, outcomeOf, placeOf } from "../encoding.ts";
import { followPages } from "../log-walk.ts";
import { addOneByOne, bytesOfWords, pageOfBatch, pagesMax, type LogPages, type SuspectSearch } from "../suspects.ts";
import { integerOf, type Row } from "./client.ts";
import type { Dialect, Value } from "./dialect.ts";
import { binaryOf, optional, recordOf, stringOf } from "./row.ts";
import type { Run } from "./session.ts";
import { claimValues, identityValues, longText, optionalText, text } from "./values.ts";

/** A batch that is written by now is committed: later than that, a walk does not wait for one. */
const settledUs = 500_000;

const orNull = (value: number | undefined): Value => value ?? null;

export async function tell(
  run: (sql: string, values: Value[]) => Promise<{ readonly rows: readonly unknown[]; readonly affected: number }>,
  dialect: Dialect,
  claim: Claim & { readonly resources?: readonly Resource[] },
): Promise<void> {
  const told = claim.resources ?? [];
  if (told.length === 0) return;
  const values = claimValues(claim);
  const [row] = (await dialect.send(run, "made", values)).rows as readonly Row[];
  if (row === undefined) return;
  let made = integerOf(row["made"]);
  for (const { kind, id } of told) {
    if (made >= limits.resourcesMax) return;
    const what = { kind: text("kind", kind, 256), id: text("id", id) };
    made += (await dialect.send(run, "tell", { ...values, ...what, ordinal: made + 1 })).affected;
  }
}

export async function resources(run: Run, dialect: Dialect, identity: Identity): Promise<readonly Resource[]> {
  const { rows } = await dialect.send(run, "resources", identityValues(identity));
  return rows.map((row) => ({ kind: stringOf(row["kind"]), id: stringOf(row["id"]) }));
}

const forgottenHeaders = text("headers", encodeHeaders([forgottenLine]));

export async function log(run: Run, dialect: Dialect, search: SuspectSearch, batch: AttemptBatch): Promise<LogResult> {
  const page = pageOfBatch(batch);
  if (page.count === 0) return { pairs: [], more: 0 };
  const process = text("process", batch.process);
  const kept = { keepUs: usOf(page.keepMs), intents: bytesOfWords(page.intents), notes: page.bytes };
  const { insertId: id } = await dialect.send(run, "addPage", { process, ...kept });
  if (batch.owners !== undefined) {
    const owners = text("owners", batch.owners, 64);
    await dialect.send(run, "noteProcess", { owners, process, release: optionalText("release", batch.release) });
  }
  await addAttempts(run, dialect, batch);
  const [row] = (await dialect.send(run, "written", { id })).rows;
  const writtenMs = row === undefined ? 0 : toMs(integerOf(row["written_us"]));
  return search.search(batch, page, { place: id, writtenMs }, pagesOf(run, dialect));
}

async function addAttempts(run: Run, dialect: Dialect, batch: AttemptBatch): Promise<void> {
  const notes = batch.notes.filter(({ kept }) => kept !== true);
  if (notes.length === 0) return;
  const process = text("process", batch.process);
  const release = optionalText("release", batch.release);
  const values = notes.flatMap((note): Value[] => {
    const { key, scopeHash } = identityValues(note.identity);
    return [
      key,
      scopeHash,
      text("operation", note.identity.operation),
      usOf(note.agoMs),
      usOf(note.tookMs),
      text("outcome", note.outcome, 32),
      Number(note.observed === true),
      orNull(note.status),
      orNull(note.attempt),
      orNull(note.fence),
      note.number,
      note.count ?? 1,
      usOf(note.spreadMs ?? 0),
      process,
      release,
      optionalText("askedBy", note.askedBy),
    ];
  });
  const { insertId: first } = await run(dialect.log(notes.length), values);
  // Whoever forgets a record between the two statements erases what the first one wrote.
  const late = (await dialect.send(run, "lateAttempts", { first, headers: forgottenHeaders })).rows;
  const ids = late.map((row) => integerOf(row["id"]));
  if (ids.length > 0) await run(dialect.sweepLog(ids.length), ids);
  await trim(run, dialect, batch);
}

function pagesOf(run: Run, dialect: Dialect): LogPages {
  return {
    async since(sinceMs, process) {
      const asked = { sinceUs: usOf(Math.max(0, sinceMs)), process: text("process", process), limit: pagesMax };
      return (await dialect.send(run, "pagesSince", asked)).rows.map((row) => ({
        place: integerOf(row["id"]),
        writtenMs: toMs(integerOf(row["written_us"])),
        intents: binaryOf(row["intents"]),
      }));
    },
    async page(id) {
      const [row] = (await dialect.send(run, "page", { id })).rows;
      return row === undefined ? undefined : binaryOf(row["notes"]);
    },
    addPairs: (pairs) =>
      addOneByOne(pairs, async ({ first, second, apartMs }) => {
        const values = {
          scopeHash: Buffer.from(first.scopeHash),
          operation: text("operation", first.operation),
          firstKey: text("key", first.key),
          secondKey: text("key", second.key),
          apartUs: usOf(apartMs),
          headers: forgottenHeaders,
        };
        if ((await dialect.send(run, "addTwin", values)).affected !== 1) return false;
        const forgotten = (await dialect.send(run, "isForgotten", values)).rows;
        for (const row of forgotten) {
          const which = { key: Buffer.from(binaryOf(row["key"])), fence: integerOf(row["fence"]) };
          await dialect.send(run, "forgetTwins", { ...values, ...which });
        }
        return forgotten.length === 0;
      }),
  };
}

async function trim(run: Run, dialect: Dialect, { notes }: AttemptBatch): Promise<void> {
  const again = notes
    .filter(({ kept, number }) => kept !== true && looksAfterBound(number))
    .map(({ identity }) => identityValues(identity));
  const crowd = [
    ...new Map(again.map((each) => [`${each.scopeHash.toString("hex")}${each.key.toString("hex")}`, each])),
  ];
  if (crowd.length === 0) return;
  const kept = limits.attemptsPerRecordMax;
  const identities = crowd.flatMap(([, { key, scopeHash }]): Value[] => [key, scopeHash]);
  const { rows } = await run(dialect.crowded(crowd.length), [...identities, kept]);
  for (const row of rows) {
    const where = { key: Buffer.from(binaryOf(row["key"])), scopeHash: Buffer.from(binaryOf(row["scope_hash"])) };
    await dialect.send(run, "trimAttempts", { ...where, isRun: integerOf(row["is_run"]), kept });
  }
}

function pairOf(row: Row): SuspectedDuplicate {
  const scope = { scopeHash: binaryOf(row["scope_hash"]), operation: stringOf(row["operation"]) };
  return {
    first: { key: stringOf(row["first_key"]) as Key, ...scope },
    second: { key: stringOf(row["second_key"]) as Key, ...scope },
    apartMs: toMs(integerOf(row["apart_us"])),
    atMs: toMs(integerOf(row["written_us"])),
  };
}

function attemptOf(row: Row): LoggedAttempt {
  const [release, askedBy] = [optional(row["release_name"]), optional(row["asked_by"])];
  const whole = (column: "status" | "attempt" | "fence") =>
    row[column] !== null && { [column]: integerOf(row[column]) };
  return {
    record: {
      key: stringOf(row["key"]) as Key,
      scopeHash: binaryOf(row["scope_hash"]),
      operation: stringOf(row["operation"]),
    },
    atMs: toMs(integerOf(row["at_us"])),
    tookMs: integerOf(row["took_us"]) / 1_000,
    outcome: outcomeOf(stringOf(row["outcome"])),
    ...(integerOf(row["observed"]) === 1 && { observed: true }),
    ...whole("status"),
    ...whole("attempt"),
    ...whole("fence"),
    number: integerOf(row["number"]),
    ...(integerOf(row["attempts_told"]) > 1 && {
      count: integerOf(row["attempts_told"]),
      lastAtMs: toMs(integerOf(row["at_us"]) + integerOf(row["spread_us"])),
    }),
    process: stringOf(row["process"]),
    ...(release !== undefined && { release }),
    ...(askedBy !== undefined && { askedBy }),
  };
}

export async function attempts(run: Run, dialect: Dialect, identity: Identity): Promise<readonly LoggedAttempt[]> {
  const logged = attemptsKept((await dialect.send(run, "attempts", identityValues(identity))).rows.map(attemptOf));
  const [row] = (await dialect.send(run, "find", identityValues(identity))).rows;
  const record = row === undefined ? undefined : recordOf(row);
  if (record === undefined || runOf(record) === undefined) return logged;
  const [by] = (await dialect.send(run, "process", { owners: text("owners", ownersOf(record.owner), 64) })).rows;
  return withOwnRun(logged, runOf(record, by === undefined ? undefined : processOf(by)));
}

function processOf(row: Row): ProcessName {
  const release = optional(row["release_name"]);
  return { process: stringOf(row["process"]), ...(release !== undefined && { release }) };
}

export async function twins(run: Run, dialect: Dialect, identity: Identity): Promise<readonly SuspectedDuplicate[]> {
  return (await dialect.send(run, "twins", identityValues(identity))).rows.map((row) => pairOf(row));
}

/** A moment in us and an id: `1763456789000000.42`. */
function startOf({ cursor, fromAgoMs }: HistoryQuery, nowUs: number) {
  if (cursor === undefined) {
    return { fromUs: fromAgoMs === undefined ? 0 : Math.max(0, nowUs - usOf(fromAgoMs)), after: 0 };
  }
  const [moment = "", place = ""] = cursor.split(".");
  return { fromUs: placeOf(moment), after: placeOf(place) };
}

async function walk<Entry>(
  run: Run,
  dialect: Dialect,
  verb: "suspects" | "auditLog",
  query: HistoryQuery,
  entryOf: (row: Row) => Entry,
): Promise<HistoryPage<Entry>> {
  checkLimit(query.limit);
  // Read before the page: what is written meanwhile comes after it.
  const clock = query.cursor === undefined ? (await dialect.send(run, "clock")).rows[0] : undefined;
  const nowUs = clock === undefined ? 0 : integerOf(clock["now_us"]);
  const start = startOf(query, nowUs);
  const { rows } = await dialect.send(run, verb, { ...start, settledUs, limit: query.limit });
  const last = rows.at(-1);
  const at = verb === "auditLog" ? "at_us" : "written_us";
  const end = query.cursor ?? `${Math.max(start.fromUs, nowUs - settledUs)}.0`;
  const cursor = last === undefined ? end : `${integerOf(last[at])}.${integerOf(last["id"])}`;
  return { entries: rows.map(entryOf), cursor };
}

export function follow(run: Run, dialect: Dialect, query: HistoryQuery): Promise<HistoryPage<LoggedAttempt>> {
  return followPages(query, {
    async begin(fromAgoMs) {
      const [clock] = (await dialect.send(run, "clock")).rows;
      const nowUs = clock === undefined ? 0 : integerOf(clock["now_us"]);
      const { fromUs } = startOf({ limit: 1, ...(fromAgoMs !== undefined && { fromAgoMs }) }, nowUs);
      return { from: `${fromUs}.0`, end: `${Math.max(fromUs, nowUs - settledUs)}.0` };
    },
    async after(cursor, limit) {
      const start = startOf({ limit, cursor }, 0);
      return (await dialect.send(run, "follow", { ...start, settledUs, limit })).rows.map((row) => ({
        token: `${integerOf(row["written_us"])}.${integerOf(row["id"])}`,
        writtenMs: toMs(integerOf(row["written_us"])),
        bytes: binaryOf(row["notes"]),
      }));
    },
  });
}

export function suspects(run: Run, dialect: Dialect, query: HistoryQuery): Promise<HistoryPage<SuspectedDuplicate>> {
  return walk(run, dialect, "suspects", query, (row) => pairOf(row));
}

export function auditLog(run: Run, dialect: Dialect, query: HistoryQuery): Promise<HistoryPage<AuditLogEntry>> {
  return walk(run, dialect, "auditLog", query, (row) => {
    const key = stringOf(row["key"]) as Key;
    const fence = integerOf(row["fence"]);
    return {
      atMs: toMs(integerOf(row["at_us"])),
      actor: stringOf(row["actor"]),
      action: stringOf(row["action"]),
      reason: stringOf(row["reason"]),
      ...(fence !== 0 && { fence }),
      ...(key !== "" && { record: { key, scopeHash: binaryOf(row["scope_hash"]) } }),
    };
  });
}

export function emptied(run: Run, dialect: Dialect, values: readonly string[]): Promise<number> {
  return emptyReasons(
    values,
    async (value) => {
      const { rows } = await dialect.send(run, "findReasons", { value: longText("value", value) });
      return rows.map((row) => stringOf(row["reason"]));
    },
    async (named) => (await dialect.send(run, "emptyReasons", { reason: longText("reason", named) })).affected,
  );
}

/** A key has at least one character, so that none stands for no record. */
const noRecord = { key: Buffer.alloc(0), scopeHash: Buffer.alloc(32) };

export async function note(run: Run, dialect: Dialect, entry: AuditNote): Promise<void> {
  const { identity, fence = 0, actor, action, reason } = entry;
  await dialect.send(run, "note", {
    ...(identity === undefined ? noRecord : identityValues(identity)),
    fence: integerOf(fence),
    actor: text("actor", actor),
    action: text("action", action, 16),
    reason: longText("reason", reason),
  });
}
