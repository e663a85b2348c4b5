/** What a record knows beside its answer: the attempt log, suspected duplicates, resources and the audit. */
import { limits } from "../../core/contract/defaults.ts";
import type {
  AttemptBatch,
  AuditLogEntry,
  AuditNote,
  HistoryPage,
  HistoryQuery,
  LoggedAttempt,
  Resource,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import type { Identity, Key } from "../../core/contract/record.ts";
import type { Claim } from "../../core/contract/store.ts";
import { attemptsKept, looksAfterBound } from "../../core/record-machine/history.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { checkLimit, intentOf, outcomeOf, placeOf } from "../encoding.ts";
import { integerOf, type Row } from "./client.ts";
import type { Dialect, Value } from "./dialect.ts";
import { binaryOf, optional, stringOf } from "./row.ts";
import type { Run } from "./session.ts";
import { claimValues, identityValues, longText, optionalText, text } from "./values.ts";

/** A batch that is written by now is committed: later than that, a walk does not wait for one. */
const settledUs = 500_000;

const orNull = (value: number | undefined): Value => value ?? null;

export async function tell(
  run: (sql: string, values: Value[]) => Promise<unknown>,
  dialect: Dialect,
  claim: Claim & { readonly resources?: readonly Resource[] },
): Promise<void> {
  const most = limits.resourcesMax;
  for (const { kind, id } of claim.resources ?? []) {
    const values = { ...claimValues(claim), kind: text("kind", kind, 256), id: text("id", id), ordinal: 1, most };
    await dialect.send(run, "tell", values);
  }
}

export async function resources(run: Run, dialect: Dialect, identity: Identity): Promise<readonly Resource[]> {
  const { rows } = await dialect.send(run, "resources", identityValues(identity));
  return rows.map((row) => ({ kind: stringOf(row["kind"]), id: stringOf(row["id"]) }));
}

export async function log(run: Run, dialect: Dialect, batch: AttemptBatch): Promise<readonly SuspectedDuplicate[]> {
  const { notes } = batch;
  if (notes.length === 0) return [];
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
      process,
      release,
      optionalText("askedBy", note.askedBy),
      intentOf(note.canonical),
    ];
  });
  const { insertId: first } = await run(dialect.log(notes.length), values);
  await trim(run, dialect, batch);
  return batch.suspectWithinMs === 0 ? [] : suspect(run, dialect, batch, first);
}

/** A first run cannot be past the bound of its record. */
async function trim(run: Run, dialect: Dialect, { notes }: AttemptBatch): Promise<void> {
  const again = notes
    .filter(({ canonical, number }) => canonical === undefined && looksAfterBound(number))
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

async function suspect(
  run: Run,
  dialect: Dialect,
  { notes, suspectWithinMs }: AttemptBatch,
  first: number,
): Promise<readonly SuspectedDuplicate[]> {
  if (notes.every(({ canonical }) => canonical === undefined)) return [];
  const last = first + notes.length - 1;
  const asked = { first, last, withinUs: usOf(suspectWithinMs), limit: limits.suspectsPerBatchMax };
  const pairs: SuspectedDuplicate[] = [];
  for (const row of (await dialect.send(run, "findTwins", asked)).rows) {
    const apartUs = integerOf(row["at_us"]) - integerOf(row["met_at_us"]);
    const [firstKey, secondKey] = apartUs >= 0 ? [row["met_key"], row["key"]] : [row["key"], row["met_key"]];
    const pair = pairOf({ ...row, first_key: firstKey, second_key: secondKey, apart_us: Math.abs(apartUs) }, "now_us");
    const { scopeHash, operation } = pair.first;
    const values = {
      scopeHash: Buffer.from(scopeHash),
      operation: text("operation", operation),
      firstKey: text("key", pair.first.key),
      secondKey: text("key", pair.second.key),
      apartUs: Math.abs(apartUs),
    };
    if ((await dialect.send(run, "addTwin", values)).affected === 1) pairs.push(pair);
  }
  return pairs;
}

function pairOf(row: Row, moment: "written_us" | "now_us" = "written_us"): SuspectedDuplicate {
  const scope = { scopeHash: binaryOf(row["scope_hash"]), operation: stringOf(row["operation"]) };
  return {
    first: { key: stringOf(row["first_key"]) as Key, ...scope },
    second: { key: stringOf(row["second_key"]) as Key, ...scope },
    apartMs: toMs(integerOf(row["apart_us"])),
    atMs: toMs(integerOf(row[moment])),
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
    process: stringOf(row["process"]),
    ...(release !== undefined && { release }),
    ...(askedBy !== undefined && { askedBy }),
  };
}

export async function attempts(run: Run, dialect: Dialect, identity: Identity): Promise<readonly LoggedAttempt[]> {
  return attemptsKept((await dialect.send(run, "attempts", identityValues(identity))).rows.map(attemptOf));
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
  verb: "follow" | "suspects" | "auditLog",
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
  return walk(run, dialect, "follow", query, attemptOf);
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
