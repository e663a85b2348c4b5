/** From what a ticket contains to the records that it may be about. */
import type { EngineNoteText } from "../core/contract/engine-note.ts";
import type { Identity } from "../core/contract/record.ts";
import type { ListQuery, Store, StoredRecord } from "../core/contract/store.ts";
import { askRecord, unaskedOf, type Probes } from "./evidence.ts";
import { atOnceMax, inSlices } from "./in-slices.ts";
import { referenceOf } from "../core/request/scope.ts";

export interface Question {
  /** Whatever there is: a key, a customer, an order, a provider's id, an event id; or `customer=cus_42`, `charge:ch_9`. */
  readonly text?: string;
  /** In the unit that requests have it in. Needs `atMs`. */
  readonly amount?: number;
  readonly atMs?: number;
  /** How far around `atMs`. Default ten minutes. */
  readonly withinMs?: number;
  /** Records that are older are left out. */
  readonly sinceMs?: number;
}

export interface Found {
  readonly records: readonly StoredRecord[];
  /** How the question was read, for people: `label customer`, `key`. */
  readonly understood: readonly string[];
  /** What was left out, or could not be told: in words. */
  readonly missing: readonly string[];
}

/** What was left out, in words. */
const cutRecords = (): readonly string[] => [`only the newest ${recordsMax} records were looked at`];

/** Looked at for one question; the newest where there are more. */
export const recordsMax = 50;
const pageMax = 1_000;
const scannedMax = 5_000;
const withinMsDefault = 600_000;
/** What people name things; engines tell what their own records have. */
const usualLabels = ["customer", "order", "booking", "payment"];
const usualResources = ["charge", "payment", "order", "refund"];

type Look = readonly [name: string, query: Omit<ListQuery, "limit">];

function looksFor(text: string, notes: readonly EngineNoteText[]): readonly Look[] {
  const [, name, sign, value = ""] = /^([\w.-]{1,64})([=:])(.+)$/s.exec(text) ?? [];
  const named: readonly Look[] =
    name === undefined
      ? []
      : [
          sign === "="
            ? [`label ${name}`, { label: { name, value } }]
            : [`resource ${name}`, { resource: { kind: name, id: value } }],
        ];
  const union = (usual: readonly string[], told: (note: EngineNoteText) => readonly string[] | undefined) => [
    ...new Set([...notes.flatMap((note) => told(note) ?? []), ...usual]),
  ];
  return [
    ...named,
    ["key", { key: text }],
    ...union(usualLabels, ({ labels }) => labels).map((each): Look => [
      `label ${each}`,
      { label: { name: each, value: text } },
    ]),
    ...union(usualResources, ({ resources }) => resources).map((each): Look => [
      `resource ${each}`,
      { resource: { kind: each, id: text } },
    ]),
  ];
}

/** All names at once: each look reads what it finds, by an index. */
async function byText(store: Store, text: string, notes: readonly EngineNoteText[]): Promise<Found> {
  const looks = looksFor(text, notes);
  const pages = await Promise.all(looks.map(([, query]) => store.list({ ...query, limit: pageMax })));
  const understood = looks.flatMap(([name], at) => ((pages[at]?.records.length ?? 0) > 0 ? [name] : []));
  const found = newest(pages.flatMap(({ records }) => records));
  const isCut = found.isCut || pages.some(({ cursor }) => cursor !== undefined);
  return { records: found.records, missing: isCut ? cutRecords() : [], understood };
}

/** Nothing knows the reference of a call but its record: those in doubt are tried, which are few. */
export async function byReference(store: Store, text: string, steps: readonly string[]): Promise<Found> {
  const { records } = await store.list({ state: "unknown", limit: pageMax });
  const matching = records.filter(({ identity, fingerprint }) =>
    steps.some((step) => referenceOf(identity, fingerprint.canonical, step) === text),
  );
  const { records: found, isCut } = newest(matching);
  return { records: found, missing: isCut ? cutRecords() : [], understood: matching.length > 0 ? ["reference"] : [] };
}

/** Any member that is this number, or that many hundredths: people write 42.00 where programs keep 4200. */
function hasAmount(value: unknown, amounts: readonly number[]): boolean {
  if (typeof value === "object" && value !== null) return Object.values(value).some((each) => hasAmount(each, amounts));
  return (typeof value === "number" || typeof value === "string") && value !== "" && amounts.includes(Number(value));
}

function tellsAmount({ labels, response }: StoredRecord, amounts: readonly number[]): boolean {
  if (hasAmount(labels, amounts)) return true;
  try {
    return hasAmount(JSON.parse(new TextDecoder().decode(response?.body)), amounts);
  } catch {
    return false;
  }
}

async function namesBetween(
  store: Store,
  fromMs: number,
  untilMs: number,
  nowMs: number,
): Promise<{ readonly names: readonly Identity[]; readonly isCut: boolean }> {
  const found = new Map<string, Identity>();
  let cursor: string | undefined;
  for (let scanned = 0; scanned < scannedMax;) {
    const from = cursor === undefined ? { fromAgoMs: Math.max(0, nowMs - fromMs) } : { cursor };
    const page = await store.follow({ limit: pageMax, ...from });
    scanned += page.entries.length;
    for (const { record, outcome, atMs } of page.entries) {
      if (outcome !== "executed" || atMs < fromMs || atMs > untilMs) continue;
      found.set(`${record.key} ${Buffer.from(record.scopeHash).toString("hex")}`, {
        ...record,
        tenant: undefined,
        principal: undefined,
      });
    }
    if (page.entries.length < pageMax || (page.entries.at(-1)?.atMs ?? 0) > untilMs)
      return { names: [...found.values()], isCut: false };
    cursor = page.cursor;
  }
  return { names: [...found.values()], isCut: true };
}

/**
 * A charge whose answer was lost is told by its provider alone, and the log of a process that died has no run: who is in
 * doubt is asked, if it was touched in that time.
 */
async function doubtedAmount(
  store: Store,
  amounts: readonly number[],
  { fromMs, untilMs }: { readonly fromMs: number; readonly untilMs: number },
  probes: Probes,
): Promise<Pick<Found, "records" | "missing">> {
  const page = await store.list({ state: "unknown", limit: pageMax });
  const open = newest(
    page.records.filter(({ createdAtMs, updatedAtMs }) => createdAtMs <= untilMs && updatedAtMs >= fromMs),
  );
  const asked = await Promise.all(
    open.records.map(async (record) => ({ record, answers: await askRecord(store, record, probes) })),
  );
  const told = asked.map(({ record, answers }) => {
    const effects = answers.flatMap((answer) => answer.effects);
    return { record, answers, sums: effects.flatMap(({ amount }) => amount ?? []) };
  });
  const isTold = ({ record, sums }: (typeof told)[number]): boolean =>
    tellsAmount(record, amounts) || sums.some((sum) => amounts.includes(sum));
  const untold = told.filter((each) => !isTold(each) && each.sums.length === 0);
  return {
    records: told.filter(isTold).map(({ record }) => record),
    missing: [
      ...(untold.length === 0
        ? []
        : [`${untold.length} record(s) of that time are in doubt, and nobody tells their amount`]),
      ...new Set(untold.flatMap(({ answers }) => unaskedOf(answers))),
      ...(open.isCut || page.cursor !== undefined
        ? [`of the records in doubt only the newest ${recordsMax} were asked about`]
        : []),
    ],
  };
}

/** By what was answered around that time: the attempt log tells which records those are. */
async function byAmount(store: Store, question: Question, nowMs: number, probes: Probes): Promise<Found> {
  const { amount = 0, atMs = nowMs, withinMs = withinMsDefault } = question;
  const amounts = [amount, Math.round(amount * 100)];
  const span = { fromMs: atMs - withinMs, untilMs: atMs + withinMs };
  const [{ names, isCut }, doubted] = await Promise.all([
    namesBetween(store, span.fromMs, span.untilMs, nowMs),
    doubtedAmount(store, amounts, span, probes),
  ]);
  const records = await inSlices(names, atOnceMax, (name) => store.find(name));
  const answered = records.filter((record) => record !== undefined && tellsAmount(record, amounts));
  const found = newest([...(answered as readonly StoredRecord[]), ...doubted.records]);
  return {
    records: found.records,
    understood: found.records.length > 0 ? ["amount and time"] : [],
    missing: [
      ...(found.isCut ? cutRecords() : []),
      ...(isCut ? [`only the oldest ${scannedMax} attempts since the beginning of that time were looked at`] : []),
      ...doubted.missing,
    ],
  };
}

export function recordName({ identity }: Pick<StoredRecord, "identity">): string {
  return `${identity.key} ${Buffer.from(identity.scopeHash).toString("hex")}`;
}

function newest(records: readonly StoredRecord[]): {
  readonly records: readonly StoredRecord[];
  /** More were found than are looked at. */
  readonly isCut: boolean;
} {
  const distinct = [...new Map(records.map((record) => [recordName(record), record])).values()];
  const sorted = distinct.toSorted((one, other) => other.createdAtMs - one.createdAtMs);
  return { records: sorted.slice(0, recordsMax), isCut: sorted.length > recordsMax };
}

export async function findRecords(
  store: Store,
  question: Question,
  notes: readonly EngineNoteText[],
  nowMs: number,
  probes: Probes,
): Promise<Found> {
  const { text, amount, sinceMs = 0 } = question;
  const asked: Found[] = [];
  if (text !== undefined) asked.push(await byText(store, text, notes));
  if (amount !== undefined) asked.push(await byAmount(store, question, nowMs, probes));
  // Two things told narrow each other down.
  const [first, second] = asked;
  const within = second === undefined ? undefined : new Set(second.records.map(recordName));
  const records = (first?.records ?? []).filter(
    (record) => record.createdAtMs >= sinceMs && (within === undefined || within.has(recordName(record))),
  );
  return {
    records,
    understood: asked.flatMap(({ understood }) => understood),
    missing: [...new Set(asked.flatMap(({ missing }) => missing))],
  };
}
