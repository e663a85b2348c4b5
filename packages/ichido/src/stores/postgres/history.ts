/** What a record knows beside its answer: the attempt log, suspected duplicates, resources and the audit. */
import { limits } from "../../core/contract/defaults.ts";
import type {
  AttemptBatch,
  AuditLogEntry,
  ForgetResult,
  HistoryPage,
  HistoryQuery,
  LoggedAttempt,
  RecordHistory,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import type { Key } from "../../core/contract/record.ts";
import { forgetAction, forgottenLine, forgottenStatus } from "../../core/record-machine/forget.ts";
import { attemptsKept } from "../../core/record-machine/history.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { bufferOf } from "../../sql/statement.ts";
import { checkLimit, encodeHeaders, forgetResultOf, intentOf, outcomeOf, placeOf } from "../encoding.ts";
import { bytesArray, numberArray, textArray } from "./arrays.ts";
import type { Row } from "./connection.ts";
import { auditEntryOf, bytesOf, flagOf, numberOf, optionalNumber, optionalText, textOf } from "./row.ts";
import type { Run } from "./run.ts";
import { decodeText, encodeOptional, encodeText } from "./text.ts";
import { identityValues } from "./values.ts";

/** A batch that is written by now is committed: later than that, a walk does not wait for one. */
const settledUs = 500_000;

/** A key has at least one character, so that none stands for no record. */
const noRecord = ["", Buffer.alloc(32)] as const;

function logValues({ process, release, notes, suspectWithinMs }: AttemptBatch): unknown[] {
  return [
    textArray(notes.map(({ identity }) => encodeText(identity.key))),
    bytesArray(notes.map(({ identity }) => identity.scopeHash)),
    textArray(notes.map(({ identity }) => encodeText(identity.operation))),
    numberArray(notes.map(({ agoMs }) => usOf(agoMs))),
    numberArray(notes.map(({ tookMs }) => usOf(tookMs))),
    textArray(notes.map(({ outcome }) => outcome)),
    numberArray(notes.map(({ observed }) => Number(observed === true))),
    numberArray(notes.map(({ status }) => status ?? null)),
    numberArray(notes.map(({ attempt }) => attempt ?? null)),
    numberArray(notes.map(({ fence }) => fence ?? null)),
    numberArray(notes.map(({ number }) => number)),
    textArray(notes.map(({ askedBy }) => encodeOptional(askedBy))),
    numberArray(notes.map(({ canonical }) => intentOf(canonical))),
    encodeText(process),
    encodeOptional(release),
    String(usOf(suspectWithinMs)),
    String(limits.attemptsPerRecordMax),
    String(limits.suspectsPerBatchMax),
  ];
}

const keyOf = (value: unknown): Key => decodeText(textOf(value)) as Key;

function pairOf(
  scope: unknown,
  operation: unknown,
  first: unknown,
  second: unknown,
  apartUs: unknown,
  atMs: number,
): SuspectedDuplicate {
  const where = { scopeHash: bytesOf(scope), operation: decodeText(textOf(operation)) };
  return {
    first: { key: keyOf(first), ...where },
    second: { key: keyOf(second), ...where },
    apartMs: toMs(numberOf(apartUs)),
    atMs,
  };
}

/** A row of `rule-paired.sql`. */
function walkedPair([writtenUs, , scope, operation, first, second, apartUs]: Row): SuspectedDuplicate {
  return pairOf(scope, operation, first, second, apartUs, toMs(numberOf(writtenUs)));
}

/** A row of `rule-attempted.sql`. */
function attemptOf(row: Row): LoggedAttempt {
  const [, , key, scopeHash, operation, atMs, tookUs, outcome, observed, ...rest] = row;
  const [status, attempt, fence] = rest.slice(0, 3).map(optionalNumber);
  const [number, process, release, askedBy] = rest.slice(3);
  const told = { release: optionalText(release), askedBy: optionalText(askedBy) };
  return {
    record: { key: keyOf(key), scopeHash: bytesOf(scopeHash), operation: decodeText(textOf(operation)) },
    atMs: numberOf(atMs),
    tookMs: numberOf(tookUs) / 1_000,
    outcome: outcomeOf(outcome),
    ...(flagOf(observed) && { observed: true }),
    ...(status !== undefined && { status }),
    ...(attempt !== undefined && { attempt }),
    ...(fence !== undefined && { fence }),
    number: numberOf(number),
    process: decodeText(textOf(process)),
    ...(told.release !== undefined && { release: told.release }),
    ...(told.askedBy !== undefined && { askedBy: told.askedBy }),
  };
}

/** A moment in us and a place: `1763456789000000.42`. */
function momentOf(cursor: string): readonly [string, string] {
  const [moment = "", place = ""] = cursor.split(".");
  return [String(placeOf(moment)), String(placeOf(place))];
}

async function walk<Entry>(
  run: Run,
  verb: "follow" | "suspects",
  query: HistoryQuery,
  entryOf: (row: Row) => Entry,
): Promise<HistoryPage<Entry>> {
  checkLimit(query.limit);
  const { cursor, fromAgoMs } = query;
  // Read before the page: what is written meanwhile comes after it.
  const nowUs = cursor === undefined ? numberOf((await run("now", "always", []))[0]?.[0]) : 0;
  const fromUs = fromAgoMs === undefined ? 0 : Math.max(0, nowUs - usOf(fromAgoMs));
  const [moment, place] = cursor === undefined ? [String(fromUs), "0"] : momentOf(cursor);
  const rows = await run(verb, "always", [moment, place, String(settledUs), String(query.limit)]);
  const last = rows.at(-1);
  const next = last === undefined ? (cursor ?? `${Math.max(fromUs, nowUs - settledUs)}.0`) : undefined;
  return {
    entries: rows.map(entryOf),
    cursor: next ?? `${numberOf(last?.[0])}.${numberOf(last?.[1])}`,
  };
}

function auditOf([, key, scopeHash, ...entry]: Row): AuditLogEntry {
  const { fence, ...told } = auditEntryOf(entry);
  return {
    ...told,
    ...(fence !== 0 && fence !== undefined && { fence }),
    ...(key !== "" && { record: { key: keyOf(key), scopeHash: bytesOf(scopeHash) } }),
  };
}

export function createHistoryVerbs(run: Run): Omit<RecordHistory, "audit"> {
  return {
    async resources(identity) {
      const rows = await run("resources", "always", identityValues(identity));
      return rows.map(([kind, id]) => ({ kind: decodeText(textOf(kind)), id: decodeText(textOf(id)) }));
    },
    async log(batch) {
      if (batch.notes.length === 0) return [];
      const rows = await run("log", "conflicts", logValues(batch));
      return rows.map(([scope, operation, first, second, apartUs, atMs]) =>
        pairOf(scope, operation, first, second, apartUs, numberOf(atMs)),
      );
    },
    async attempts(identity) {
      return attemptsKept((await run("attempts", "always", identityValues(identity))).map(attemptOf));
    },
    follow: (query) => walk(run, "follow", query, attemptOf),
    async twins(identity) {
      return (await run("twins", "always", identityValues(identity))).map(walkedPair);
    },
    suspects: (query) => walk(run, "suspects", query, walkedPair),
    async note({ identity, fence = 0, actor, action, reason }) {
      const where = identity === undefined ? noRecord : [encodeText(identity.key), bufferOf(identity.scopeHash)];
      await run("note", "conflicts", [...where, String(fence), encodeText(actor), action, encodeText(reason)]);
    },
    async auditLog(query) {
      checkLimit(query.limit);
      const { cursor, fromAgoMs } = query;
      const fromUs = cursor === undefined && fromAgoMs !== undefined ? String(usOf(fromAgoMs)) : null;
      const after = cursor === undefined ? "0" : String(placeOf(cursor));
      const rows = await run("auditLog", "always", [after, fromUs, String(query.limit)]);
      const next = rows.length === 0 ? cursor : String(numberOf(rows.at(-1)?.[0]));
      return { entries: rows.map(auditOf), ...(next !== undefined && { cursor: next }) };
    },
    async forget({ identity, fence, actor, reason }): Promise<ForgetResult> {
      const tombstone = [forgetAction, encodeHeaders([forgottenLine]), String(forgottenStatus)];
      const values = [...identityValues(identity), String(fence), encodeText(actor), encodeText(reason), ...tombstone];
      return forgetResultOf(textOf((await run("forget", "conflicts", values))[0]?.[0]));
    },
  };
}
