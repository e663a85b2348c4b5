/**
 * What a record knows beside its answer. Pages of attempts, pairs and audit entries are written one after the other into a
 * journal each, and those of one record beside it, under its own hash tag: two keys, so two steps. A process that dies
 * between them leaves an entry in the journal that its record does not show.
 */
import { limits } from "../../core/contract/defaults.ts";
import type {
  AttemptBatch,
  AttemptNote,
  AuditLogEntry,
  AuditNote,
  HistoryPage,
  HistoryQuery,
  LoggedAttempt,
  RecordHistory,
  SuspectedDuplicate,
} from "../../core/contract/history.ts";
import type { Identity, Key } from "../../core/contract/record.ts";
import type { StoredRecord } from "../../core/contract/store.ts";
import { forgottenLine, isForgotten } from "../../core/record-machine/forget.ts";
import {
  attemptsKept,
  isRun,
  ownersOf,
  runOf,
  withOwnRun,
  type ProcessName,
} from "../../core/record-machine/history.ts";
import type { WrittenPage } from "../../core/record-machine/log-page.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import { checkLimit, outcomeOf, placeOf, storedJson } from "../encoding.ts";
import { followPages, type PageRow } from "../log-walk.ts";
import { addOneByOne, bytesOfWords, pageOfBatch, pagesMax, SuspectSearch, type LogPages } from "../suspects.ts";
import type { Names } from "./names.ts";
import type { Scripts } from "./scripts.ts";

/** Notes that the pages of the log keep at most; a record keeps its own for as long as it lives. */
const attemptsMax = "100000";
/** Pages whose intents are kept for other processes. */
const intentPagesMax = "5000";
/** A record that waits longer for a person tells no process any more. */
const processKeptMs = String(90 * 86_400_000);
/** What the answer of a forgotten record says, and no other's. */
const [forgottenWord] = forgottenLine;
const pairsMax = "10000";
/** Pairs that one record keeps. */
const twinsMax = 100;
/** Audit rows kept of one record; they are made by people. */
export const auditMax = 1_000;

type AttemptText = readonly [
  key: string,
  scopeHash: string,
  operation: string,
  agoUs: number,
  tookUs: number,
  outcome: string,
  observed: number,
  status: number | null,
  attempt: number | null,
  fence: number | null,
  number: number,
  process: string,
  release: string | null,
  askedBy: string | null,
  count: number,
  spreadUs: number,
];

function encodeAttempt(note: AttemptNote, { process, release }: AttemptBatch): string {
  const { identity } = note;
  const text: AttemptText = [
    identity.key,
    Buffer.from(identity.scopeHash).toString("base64url"),
    identity.operation,
    usOf(note.agoMs),
    usOf(note.tookMs),
    note.outcome,
    Number(note.observed === true),
    note.status ?? null,
    note.attempt ?? null,
    note.fence ?? null,
    note.number,
    process,
    release ?? null,
    note.askedBy ?? null,
    note.count ?? 1,
    usOf(note.spreadMs ?? 0),
  ];
  return JSON.stringify(text);
}

const scopeOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64url"));

function decodeAttempt(place: number, text: string): LoggedAttempt {
  const [key, scope, operation, agoUs, tookUs, outcome, observed, status, attempt, fence, ...rest] = storedJson(
    text,
  ) as AttemptText;
  const [number, process, release, askedBy, count, spreadUs] = rest;
  return {
    record: { key: key as Key, scopeHash: scopeOf(scope), operation },
    atMs: toMs(place - agoUs),
    tookMs: tookUs / 1_000,
    outcome: outcomeOf(outcome),
    ...(observed === 1 && { observed: true }),
    ...(status !== null && { status }),
    ...(attempt !== null && { attempt }),
    ...(fence !== null && { fence }),
    number,
    ...(count > 1 && { count, lastAtMs: toMs(place - agoUs + spreadUs) }),
    process,
    ...(release !== null && { release }),
    ...(askedBy !== null && { askedBy }),
  };
}

type PairText = readonly [scopeHash: string, operation: string, first: string, second: string, apartUs: number];

function decodePair(place: number, text: string): SuspectedDuplicate {
  const [scope, operation, first, second, apartUs] = storedJson(text) as PairText;
  const where = { scopeHash: scopeOf(scope), operation };
  return {
    first: { key: first as Key, ...where },
    second: { key: second as Key, ...where },
    apartMs: toMs(apartUs),
    atMs: toMs(place),
  };
}

type AuditText = readonly [key: string, scopeHash: string, actor: string, action: string, fence: number];

function splitEntry(entry: unknown): readonly [place: number, text: string] {
  const text = textOf(entry);
  const space = text.indexOf(" ");
  return [numberOf(text.slice(0, space)), text.slice(space + 1)];
}

/** One of the notes that a record keeps beside it. */
type Kept = readonly [place: number, text: string];

const placesOf = (entries: readonly Kept[]): readonly string[] => entries.map(([place]) => String(place));

type IntentsText = readonly [process: string, page: number, intents: string];

const bytesOfBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"));

/** `place total end text`. */
function pageIn(entry: unknown): PageRow {
  const [place, rest] = splitEntry(entry);
  const bytes = bytesOfBase64(rest.slice(rest.lastIndexOf(" ") + 1));
  return { token: String(place), writtenMs: toMs(place), bytes };
}

export interface HistoryParts {
  readonly scripts: Scripts;
  readonly names: Names;
  readonly marginMs: number;
  readonly find: (identity: Identity) => Promise<StoredRecord | undefined>;
}

interface PlacedAudit {
  readonly place: number;
  readonly entry: AuditLogEntry;
}

export interface History extends Omit<RecordHistory, "audit" | "emptyReasons" | "forget" | "resources"> {
  readonly auditPage: (query: HistoryQuery) => Promise<HistoryPage<PlacedAudit>>;
  /** Erases all that is kept beside the record, but of a later life. */
  readonly erase: (identity: Identity) => Promise<void>;
}

export function createHistory({ scripts, names, marginMs, find }: HistoryParts): History {
  const search = new SuspectSearch();

  async function append(journal: "intents" | "pairs" | "audit", keep: readonly string[], entries: readonly string[]) {
    const [first] = listOf(await scripts.run("append", names.journal[journal], [...keep, ...entries]));
    return numberOf(first);
  }

  async function own(name: string): Promise<readonly Kept[]> {
    const found = listOf(await scripts.run("own", name, []));
    return Array.from({ length: found.length / 2 }, (_, at) => [numberOf(found[2 * at]), textOf(found[2 * at + 1])]);
  }

  async function walk<Entry>(
    journal: "pairs" | "audit",
    query: HistoryQuery,
    entryOf: (place: number, text: string) => Entry,
  ): Promise<HistoryPage<Entry>> {
    checkLimit(query.limit);
    const { cursor, fromAgoMs } = query;
    const from = [
      cursor === undefined ? "" : String(placeOf(cursor)),
      fromAgoMs === undefined ? "" : String(usOf(fromAgoMs)),
    ];
    const reply = await scripts.run("walk", names.journal[journal], [...from, String(query.limit)]);
    const [last, ...found] = listOf(reply);
    const entries = found.map(splitEntry);
    const place = entries.at(-1)?.[0] ?? Math.max(numberOf(last), cursor === undefined ? 0 : placeOf(cursor));
    const page = entries.map(([at, text]) => entryOf(at, text));
    return place > 0 ? { entries: page, cursor: String(place) } : { entries: page };
  }

  async function auditPage(query: HistoryQuery): Promise<HistoryPage<PlacedAudit>> {
    const page = await walk("audit", query, (place, text) => ({ place, text }));
    const places = page.entries.map(({ place }) => String(place));
    const reasons =
      places.length === 0 ? [] : listOf(await scripts.run("reasons", names.journal.reasons, ["get", ...places]));
    const entries = page.entries.map(({ place, text }, at) => {
      const [key, scope, actor, action, fence] = storedJson(text) as AuditText;
      const record = key === "" ? {} : { record: { key: key as Key, scopeHash: scopeOf(scope) } };
      const told = { actor, action, reason: textOf(reasons[at]), ...(fence !== 0 && { fence }) };
      return { place, entry: { atMs: toMs(place), ...told, ...record } };
    });
    return { ...page, entries };
  }

  /** Those of one record and kind go in one step. */
  async function keepOwn(batch: AttemptBatch, first: number): Promise<void> {
    const own = new Map<string, { readonly args: string[]; keepMs: number }>();
    for (const [at, note] of batch.notes.entries()) {
      if (note.kept === true) continue;
      const name = names.own(note.identity, isRun(note.outcome) ? "runs" : "others");
      const known = own.get(name) ?? { args: [], keepMs: 0 };
      known.args.push(String(first + at), encodeAttempt(note, batch));
      known.keepMs = Math.max(known.keepMs, note.keepMs);
      own.set(name, known);
    }
    await Promise.all(
      [...own].map(([name, { args, keepMs }]) => {
        const bounds = [String(limits.attemptsPerRecordMax), String(Math.ceil(keepMs + marginMs)), forgottenWord];
        return scripts.run("addOwn", name, [...bounds, ...args]);
      }),
    );
  }

  async function addPair(pair: SuspectedDuplicate, keepMs: number): Promise<boolean> {
    const { scopeHash, operation, key: first } = pair.first;
    const second = pair.second.key;
    // A batch that is sent again meets its own pairs.
    const known = await own(names.own(pair.second, "twins"));
    if (known.some(([, text]) => isPair(text, first, second))) return false;
    const scope = Buffer.from(scopeHash).toString("base64url");
    const text = JSON.stringify([scope, operation, first, second, usOf(pair.apartMs)] satisfies PairText);
    const ms = String(Math.ceil(keepMs + marginMs));
    const place = String(await append("pairs", [String(usOf(keepMs)), pairsMax, ms], [text]));
    const both = [pair.first, pair.second].map((each) => names.own(each, "twins"));
    const kept = await Promise.all(
      both.map(async (name) =>
        numberOf(await scripts.run("addOwn", name, [String(twinsMax), ms, forgottenWord, place, text])),
      ),
    );
    if (!kept.includes(0)) return true;
    for (const name of [names.journal.pairs, ...both]) await scripts.run("removeEntries", name, [place]);
    return false;
  }

  function isPair(text: string, first: string, second: string): boolean {
    const [, , one, other] = storedJson(text) as PairText;
    return one === first && other === second;
  }

  const pagesFor = (keepMs: number): LogPages => ({
    async since(sinceMs, process) {
      const from = [String(usOf(Math.max(0, sinceMs))), "", String(pagesMax)];
      const [, ...found] = listOf(await scripts.run("walk", names.journal.intents, from));
      return found.map((entry) => {
        const [place, text] = splitEntry(entry);
        const [by, page, intents] = storedJson(text) as IntentsText;
        // Its own pages are told without what is on them: whoever asks counts how many there were.
        const others = by === process ? "" : intents;
        return { place: page, writtenMs: toMs(place), intents: bytesOfBase64(others) };
      });
    },
    async page(place) {
      const [entry] = listOf(await scripts.run("page", names.journal.log, [String(place)]));
      return entry === undefined ? undefined : pageIn(entry).bytes;
    },
    addPairs: (pairs) => addOneByOne(pairs, (pair) => addPair(pair, keepMs)),
  });

  async function writePage(batch: AttemptBatch, page: WrittenPage): Promise<number> {
    const keepMs = String(Math.ceil(page.keepMs + marginMs));
    const bounds = [String(usOf(page.keepMs)), attemptsMax, keepMs, String(page.count)];
    const reply = await scripts.run("appendPage", names.journal.log, [...bounds, page.bytes.toString("base64")]);
    const place = numberOf(listOf(reply)[0]);
    const { process, release, owners, suspectWithinMs } = batch;
    if (owners !== undefined) {
      const told = JSON.stringify({ process, ...(release !== undefined && { release }) } satisfies ProcessName);
      await scripts.run("noteProcess", names.process(owners), [told, processKeptMs]);
    }
    if (suspectWithinMs > 0 && page.intents.length > 0) {
      const text = JSON.stringify([
        process,
        place,
        bytesOfWords(page.intents).toString("base64"),
      ] satisfies IntentsText);
      const withinMs = suspectWithinMs + marginMs;
      await append("intents", [String(usOf(withinMs)), intentPagesMax, String(Math.ceil(withinMs))], [text]);
    }
    return place;
  }

  async function processOf(owners: string): Promise<ProcessName | undefined> {
    const text = textOf(await scripts.run("process", names.process(owners), []));
    return text === "" ? undefined : (storedJson(text) as ProcessName);
  }

  return {
    async log(batch) {
      const page = pageOfBatch(batch);
      if (page.count === 0) return { pairs: [], more: 0 };
      const place = await writePage(batch, page);
      try {
        await keepOwn(batch, place - page.count);
      } catch (error) {
        // It is sent again as a whole: copies of its page would push out what others wrote.
        await scripts.run("removeEntries", names.journal.log, [String(place)]);
        throw error;
      }
      return search.search(batch, page, { place, writtenMs: toMs(place) }, pagesFor(page.keepMs));
    },
    async attempts(identity) {
      const kinds = ["runs", "others"] as const;
      const found = (await Promise.all(kinds.map((kind) => own(names.own(identity, kind))))).flat();
      const inOrder = found.toSorted(([one], [other]) => one - other);
      const logged = attemptsKept(inOrder.map(([place, text]) => decodeAttempt(place, text)));
      const record = await find(identity);
      if (record === undefined || runOf(record) === undefined) return logged;
      return withOwnRun(logged, runOf(record, await processOf(ownersOf(record.owner))));
    },
    follow: (query) =>
      followPages(query, {
        async begin(fromAgoMs) {
          const asked = ["", fromAgoMs === undefined ? "" : String(usOf(fromAgoMs)), "1"];
          const [last, first] = listOf(await scripts.run("walk", names.journal.log, asked));
          const end = numberOf(last);
          const from = first === undefined ? end : splitEntry(first)[0] - 1;
          return { from: String(from), end: end === 0 ? undefined : String(end) };
        },
        async after(token, pages) {
          const asked = [String(placeOf(token)), "", String(pages)];
          const [, ...found] = listOf(await scripts.run("walk", names.journal.log, asked));
          return found.map(pageIn);
        },
      }),
    async twins(identity) {
      return (await own(names.own(identity, "twins"))).map(([place, text]) => decodePair(place, text));
    },
    suspects: (query) => walk("pairs", query, decodePair),
    async note({ identity, fence = 0, actor, action, reason }: AuditNote) {
      const scope = identity === undefined ? "" : Buffer.from(identity.scopeHash).toString("base64url");
      const text = JSON.stringify([identity?.key ?? "", scope, actor, action, fence] satisfies AuditText);
      const place = String(await append("audit", ["", "", ""], [text]));
      await scripts.run("reasons", names.journal.reasons, ["set", place, reason]);
      if (identity === undefined) return;
      await scripts.run("addOwn", names.own(identity, "audit"), [String(auditMax), "", "", place, place]);
    },
    async auditLog(query) {
      const page = await auditPage(query);
      return { ...page, entries: page.entries.map(({ entry }) => entry) };
    },
    auditPage,
    async erase(identity) {
      const kinds = ["audit", "runs", "others", "twins"] as const;
      const listed = await Promise.all(kinds.map((kind) => own(names.own(identity, kind))));
      // Asked for last: what was listed is of the life that is there then, or of one before.
      const bornUs = await laterLifeUs(identity);
      const former = listed.map((entries) => entries.filter(([place]) => place < bornUs));
      const [audits = [], runs = [], others = [], twins = []] = former;
      if (audits.length > 0) await scripts.run("reasons", names.journal.reasons, ["empty", ...placesOf(audits)]);
      await eraseTwins(identity, twins);
      if (twins.length > 0) await scripts.run("removeEntries", names.journal.pairs, placesOf(twins));
      // Last: what is named here can be found again if this process dies before.
      for (const [kind, entries] of [
        ["runs", runs],
        ["others", others],
        ["twins", twins],
      ] as const)
        if (entries.length > 0) await scripts.run("removeEntries", names.own(identity, kind), placesOf(entries));
    },
  };

  /** Since when another life has the record of one that was forgotten. */
  async function laterLifeUs(identity: Identity): Promise<number> {
    const record = await find(identity);
    const isLater = record !== undefined && !isForgotten(record.response);
    return isLater ? usOf(record.createdAtMs) : Number.POSITIVE_INFINITY;
  }

  /** The other key of a pair tells of it, too. */
  async function eraseTwins(identity: Identity, found: readonly Kept[]): Promise<void> {
    for (const [place, text] of found) {
      const { first, second } = decodePair(place, text);
      const twin = first.key === identity.key ? second : first;
      await scripts.run("removeEntries", names.own(twin, "twins"), [String(place)]);
    }
  }
}
