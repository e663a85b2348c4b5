/** What a record knows beside its answer: the attempt log, suspected duplicates, resources and the audit. */
import { limits } from "../../core/contract/defaults.ts";
import type {
  AttemptBatch,
  AuditLogEntry,
  ForgetResult,
  HistoryPage,
  HistoryQuery,
  LoggedAttempt,
  LogResult,
  RecordHistory,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import type { Identity, Key } from "../../core/contract/record.ts";
import { forgetAction, forgottenLine, forgottenStatus } from "../../core/record-machine/forget.ts";
import { attemptsKept, ownersOf, runOf, withOwnRun, type ProcessName } from "../../core/record-machine/history.ts";
import type { WrittenPage } from "../../core/record-machine/log-page.ts";
import { emptyReasons } from "../../core/record-machine/reasons.ts";
import type { Store } from "../../core/contract/store.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { bufferOf } from "../../sql/statement.ts";
import { checkLimit, encodeHeaders, forgetResultOf, outcomeOf, placeOf } from "../encoding.ts";
import { followPages } from "../log-walk.ts";
import { addOneByOne, bytesOfWords, pageOfBatch, pagesMax, SuspectSearch, type LogPages } from "../suspects.ts";
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

const forgottenHeaders = encodeHeaders([forgottenLine]);

function logValues({ process, release, owners, ...batch }: AttemptBatch, page: WrittenPage): unknown[] {
  const notes = batch.notes.filter(({ kept }) => kept !== true);
  return [
    encodeText(process),
    encodeOptional(release),
    encodeOptional(owners),
    String(usOf(page.keepMs)),
    bytesOfWords(page.intents),
    page.bytes,
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
    numberArray(notes.map(({ count }) => count ?? 1)),
    numberArray(notes.map(({ spreadMs }) => usOf(spreadMs ?? 0))),
    textArray(notes.map(({ askedBy }) => encodeOptional(askedBy))),
    String(limits.attemptsPerRecordMax),
    forgottenHeaders,
  ];
}

const keyOf = (value: unknown): Key => decodeText(textOf(value)) as Key;

/** A row of `rule-paired.sql`. */
function walkedPair([writtenUs, , scope, operation, first, second, apartUs]: Row): SuspectedDuplicate {
  const where = { scopeHash: bytesOf(scope), operation: decodeText(textOf(operation)) };
  return {
    first: { key: keyOf(first), ...where },
    second: { key: keyOf(second), ...where },
    apartMs: toMs(numberOf(apartUs)),
    atMs: toMs(numberOf(writtenUs)),
  };
}

/** A row of `rule-attempted.sql`. */
function attemptOf(row: Row): LoggedAttempt {
  const [key, scopeHash, operation, atMs, tookUs, outcome, observed, ...rest] = row;
  const [status, attempt, fence] = rest.slice(0, 3).map(optionalNumber);
  const [number, count, spreadUs, process, release, askedBy] = rest.slice(3);
  const told = { release: optionalText(release), askedBy: optionalText(askedBy) };
  const lastAtMs = Math.floor(numberOf(atMs) + toMs(numberOf(spreadUs)));
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
    ...(numberOf(count) > 1 && { count: numberOf(count), lastAtMs }),
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

async function suspects(run: Run, query: HistoryQuery): Promise<HistoryPage<SuspectedDuplicate>> {
  checkLimit(query.limit);
  const { cursor, fromAgoMs } = query;
  const begun = cursor === undefined ? await beginOf(run, fromAgoMs) : undefined;
  const [moment, place] = momentOf(cursor ?? begun?.from ?? "");
  const rows = await run("suspects", "always", [moment, place, String(settledUs), String(query.limit)]);
  const last = rows.at(-1);
  const next = last === undefined ? (cursor ?? begun?.end) : `${numberOf(last[0])}.${numberOf(last[1])}`;
  return { entries: rows.map(walkedPair), ...(next !== undefined && { cursor: next }) };
}

/** Read before the page: what is written meanwhile comes after it. */
async function beginOf(run: Run, fromAgoMs: number | undefined): Promise<{ from: string; end: string }> {
  const nowUs = numberOf((await run("now", "always", []))[0]?.[0]);
  const fromUs = fromAgoMs === undefined ? 0 : Math.max(0, nowUs - usOf(fromAgoMs));
  return { from: `${fromUs}.0`, end: `${Math.max(fromUs, nowUs - settledUs)}.0` };
}

function follow(run: Run, query: HistoryQuery): Promise<HistoryPage<LoggedAttempt>> {
  return followPages(query, {
    begin: (fromAgoMs) => beginOf(run, fromAgoMs),
    async after(token, pages) {
      const rows = await run("follow", "always", [...momentOf(token), String(settledUs), String(pages)]);
      return rows.map(([writtenUs, place, notes]) => ({
        token: `${numberOf(writtenUs)}.${numberOf(place)}`,
        writtenMs: toMs(numberOf(writtenUs)),
        bytes: bytesOf(notes),
      }));
    },
  });
}

function createPages(run: Run): LogPages {
  return {
    async since(sinceMs, process) {
      const values = [String(usOf(Math.max(0, sinceMs))), encodeText(process), String(pagesMax)];
      const rows = await run("pagesSince", "always", values);
      return rows.map(([moment, place, intents]) => ({
        place: numberOf(place),
        writtenMs: toMs(numberOf(moment)),
        intents: bytesOf(intents),
      }));
    },
    async page(place) {
      const rows = await run("page", "always", [String(place)]);
      return rows[0] === undefined ? undefined : bytesOf(rows[0][0]);
    },
    addPairs: (pairs) =>
      addOneByOne(pairs, async ({ first, second, apartMs }) => {
        const names = [bufferOf(first.scopeHash), ...[first.operation, first.key, second.key].map(encodeText)];
        const [row] = await run("addTwin", "conflicts", [...names, String(usOf(apartMs)), forgottenHeaders]);
        return flagOf(row?.[0]);
      }),
  };
}

async function log(run: Run, search: SuspectSearch, pages: LogPages, batch: AttemptBatch): Promise<LogResult> {
  const page = pageOfBatch(batch);
  if (page.count === 0) return { pairs: [], more: 0 };
  const [[place, writtenUs] = []] = await run("log", "conflicts", logValues(batch, page));
  return search.search(batch, page, { place: numberOf(place), writtenMs: toMs(numberOf(writtenUs)) }, pages);
}

async function attempts(run: Run, find: Store["find"], identity: Identity): Promise<readonly LoggedAttempt[]> {
  const [record, rows] = await Promise.all([find(identity), run("attempts", "always", identityValues(identity))]);
  const logged = attemptsKept(rows.map(attemptOf));
  if (runOf(record) === undefined || record === undefined) return logged;
  const [by] = await run("process", "always", [ownersOf(record.owner)]);
  return withOwnRun(logged, runOf(record, by === undefined ? undefined : processOf(by)));
}

function processOf([process, release]: Row): ProcessName {
  const told = optionalText(release);
  return { process: decodeText(textOf(process)), ...(told !== undefined && { release: told }) };
}

function auditOf([, key, scopeHash, ...entry]: Row): AuditLogEntry {
  const { fence, ...told } = auditEntryOf(entry);
  return {
    ...told,
    ...(fence !== 0 && fence !== undefined && { fence }),
    ...(key !== "" && { record: { key: keyOf(key), scopeHash: bytesOf(scopeHash) } }),
  };
}

export function createHistoryVerbs(run: Run, find: Store["find"]): Omit<RecordHistory, "audit"> {
  const search = new SuspectSearch();
  const pages = createPages(run);
  return {
    async resources(identity) {
      const rows = await run("resources", "always", identityValues(identity));
      return rows.map(([kind, id]) => ({ kind: decodeText(textOf(kind)), id: decodeText(textOf(id)) }));
    },
    log: (batch) => log(run, search, pages, batch),
    attempts: (identity) => attempts(run, find, identity),
    follow: (query) => follow(run, query),
    async twins(identity) {
      return (await run("twins", "always", identityValues(identity))).map(walkedPair);
    },
    suspects: (query) => suspects(run, query),
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
    emptyReasons: (values) =>
      emptyReasons(
        values,
        async (value) => {
          const rows = await run("findReasons", "always", [encodeText(value)]);
          return rows.map(([named]) => decodeText(textOf(named)));
        },
        async (named) => numberOf((await run("emptyReasons", "always", [encodeText(named)]))[0]?.[0]),
      ),
  };
}
