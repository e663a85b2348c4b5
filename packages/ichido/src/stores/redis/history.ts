/**
 * What a record knows beside its answer. All attempts, pairs and audit entries are written one after the other into a
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
import { attemptsKept, isRun } from "../../core/record-machine/history.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { listOf, numberOf, textOf } from "../../drivers/redis/reply.ts";
import { checkLimit, outcomeOf, placeOf, storedJson } from "../encoding.ts";
import type { Names } from "./names.ts";
import type { Scripts } from "./scripts.ts";

/** Entries that the journal of attempts keeps at most; a record keeps its own for as long as it lives. */
const attemptsMax = "100000";
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
  ];
  return JSON.stringify(text);
}

const scopeOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64url"));

function decodeAttempt(place: number, text: string): LoggedAttempt {
  const [key, scope, operation, agoUs, tookUs, outcome, observed, status, attempt, fence, ...rest] = storedJson(
    text,
  ) as AttemptText;
  const [number, process, release, askedBy] = rest;
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

export interface HistoryParts {
  readonly scripts: Scripts;
  readonly names: Names;
  readonly marginMs: number;
}

export interface History extends Omit<RecordHistory, "audit" | "forget" | "resources"> {
  /** Erases all that is kept beside the record. */
  readonly erase: (identity: Identity) => Promise<void>;
}

export function createHistory({ scripts, names, marginMs }: HistoryParts): History {
  async function append(journal: "log" | "pairs" | "audit", keep: readonly string[], entries: readonly string[]) {
    const [first] = listOf(await scripts.run("append", names.journal[journal], [...keep, ...entries]));
    return numberOf(first);
  }

  async function own(name: string): Promise<readonly (readonly [place: number, text: string])[]> {
    const found = listOf(await scripts.run("own", name, []));
    return Array.from({ length: found.length / 2 }, (_, at) => [numberOf(found[2 * at]), textOf(found[2 * at + 1])]);
  }

  async function walk<Entry>(
    journal: "log" | "pairs" | "audit",
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

  /** Those of one record and kind go in one step; what the record has no room for goes from the journal too. */
  async function keepOwn(batch: AttemptBatch, texts: readonly string[], first: number): Promise<void> {
    const own = new Map<string, { readonly args: string[]; keepMs: number }>();
    for (const [at, note] of batch.notes.entries()) {
      const name = names.own(note.identity, isRun(note.outcome) ? "runs" : "others");
      const known = own.get(name) ?? { args: [], keepMs: 0 };
      known.args.push(String(first + at), texts[at] ?? "");
      known.keepMs = Math.max(known.keepMs, note.keepMs);
      own.set(name, known);
    }
    const kept = await Promise.all(
      [...own].map(([name, { args, keepMs }]) => {
        const bounds = [String(limits.attemptsPerRecordMax), String(Math.ceil(keepMs + marginMs))];
        return scripts.run("addOwn", name, [...bounds, ...args]);
      }),
    );
    const gone = kept.flatMap((reply) => listOf(reply).map(textOf));
    if (gone.length > 0) await scripts.run("removeEntries", names.journal.log, gone);
  }

  async function suspect(note: AttemptNote, withinMs: number): Promise<SuspectedDuplicate | undefined> {
    const { identity, canonical } = note;
    if (canonical === undefined || withinMs === 0) return undefined;
    const { key, scopeHash, operation } = identity;
    const age = usOf(note.agoMs);
    const args = [key, String(age), String(usOf(withinMs)), String(Math.ceil(withinMs + note.agoMs))];
    const [metAt, metKey, at] = listOf(await scripts.run("intent", names.intent(scopeHash, canonical), args));
    if (metAt === undefined) return undefined;
    const apartUs = numberOf(at) - numberOf(metAt);
    const [first, second] = apartUs >= 0 ? [textOf(metKey), key] : [key, textOf(metKey)];
    const where = { scopeHash, operation };
    // A batch that is sent again meets its own pairs.
    const known = await own(names.own({ key: second as Key, scopeHash }, "twins"));
    if (known.some(([, text]) => isPair(text, first, second))) return undefined;
    const scope = Buffer.from(scopeHash).toString("base64url");
    const text = JSON.stringify([scope, operation, first, second, Math.abs(apartUs)] satisfies PairText);
    const keep = [String(usOf(note.keepMs)), pairsMax, String(Math.ceil(note.keepMs + marginMs))];
    const place = await append("pairs", keep, [text]);
    for (const each of [first, second]) {
      const bounds = [String(twinsMax), String(Math.ceil(note.keepMs + marginMs))];
      await scripts.run("addOwn", names.own({ key: each as Key, scopeHash }, "twins"), [
        ...bounds,
        String(place),
        text,
      ]);
    }
    return {
      first: { key: first as Key, ...where },
      second: { key: second as Key, ...where },
      apartMs: toMs(Math.abs(apartUs)),
      atMs: toMs(place),
    };
  }

  function isPair(text: string, first: string, second: string): boolean {
    const [, , one, other] = storedJson(text) as PairText;
    return one === first && other === second;
  }

  return {
    async log(batch) {
      if (batch.notes.length === 0) return [];
      const texts = batch.notes.map((note) => encodeAttempt(note, batch));
      const keepMs = Math.max(...batch.notes.map((note) => note.keepMs));
      const keep = [String(usOf(keepMs)), attemptsMax, String(Math.ceil(keepMs + marginMs))];
      await keepOwn(batch, texts, await append("log", keep, texts));
      const pairs: SuspectedDuplicate[] = [];
      // One after the other: two of one batch may be twins.
      for (const note of batch.notes) {
        if (pairs.length >= limits.suspectsPerBatchMax) break;
        const pair = await suspect(note, batch.suspectWithinMs);
        if (pair !== undefined) pairs.push(pair);
      }
      return pairs;
    },
    async attempts(identity) {
      const kinds = ["runs", "others"] as const;
      const found = (await Promise.all(kinds.map((kind) => own(names.own(identity, kind))))).flat();
      const inOrder = found.toSorted(([one], [other]) => one - other);
      return attemptsKept(inOrder.map(([place, text]) => decodeAttempt(place, text)));
    },
    follow: (query) => walk("log", query, decodeAttempt),
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
      await scripts.run("addOwn", names.own(identity, "audit"), [String(auditMax), "", place, place]);
    },
    async auditLog(query) {
      const page = await walk("audit", query, (place, text) => ({ place, text }));
      const places = page.entries.map(({ place }) => String(place));
      const reasons =
        places.length === 0 ? [] : listOf(await scripts.run("reasons", names.journal.reasons, ["get", ...places]));
      const entries = page.entries.map(({ place, text }, at): AuditLogEntry => {
        const [key, scope, actor, action, fence] = storedJson(text) as AuditText;
        const record = key === "" ? {} : { record: { key: key as Key, scopeHash: scopeOf(scope) } };
        return {
          atMs: toMs(place),
          actor,
          action,
          reason: textOf(reasons[at]),
          ...(fence !== 0 && { fence }),
          ...record,
        };
      });
      return { ...page, entries };
    },
    async erase(identity) {
      const audits = (await own(names.own(identity, "audit"))).map(([place]) => String(place));
      if (audits.length > 0) await scripts.run("reasons", names.journal.reasons, ["empty", ...audits]);
      for (const [kind, journal] of [
        ["runs", "log"],
        ["others", "log"],
        ["twins", "pairs"],
      ] as const) {
        const name = names.own(identity, kind);
        const found = await own(name);
        if (found.length === 0) continue;
        if (kind === "twins") await eraseTwins(identity, found);
        await scripts.run(
          "removeEntries",
          names.journal[journal],
          found.map(([place]) => String(place)),
        );
        // Last: what is named here can be found again if this process dies before.
        await scripts.run(
          "removeEntries",
          name,
          found.map(([place]) => String(place)),
        );
      }
    },
  };

  /** The other key of a pair tells of it, too. */
  async function eraseTwins(identity: Identity, found: readonly (readonly [number, string])[]): Promise<void> {
    for (const [place, text] of found) {
      const { first, second } = decodePair(place, text);
      const twin = first.key === identity.key ? second : first;
      await scripts.run("removeEntries", names.own(twin, "twins"), [String(place)]);
    }
  }
}
