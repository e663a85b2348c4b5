/** Looking at records: a page of them, the queue of open outcomes, one with all that it knows, what providers say of it. */
import { present } from "../core/contract/present.ts";
import type { ListQuery, StoredRecord } from "../core/contract/store.ts";
import { forgetRefusalSeen } from "../core/record-machine/forget.ts";
import { settleRefusalSeen } from "../core/record-machine/settle.ts";
import { gather } from "../operations/evidence.ts";
import { leftOpenOf } from "../operations/left-open.ts";
import { timeOf } from "../operations/timeline.ts";
import { iso, shownResource, shownText, stepJson } from "../operations/told-record.ts";
import { effectsOf } from "../operations/verdict.ts";
import type { KeyAnswer, KeysAnswer, LinkedEventView, ProbesAnswer, UnknownAnswer } from "./contract.ts";
import { openCursor, sealedCursor } from "./cursor.ts";
import { may, recordNamed, type Asked, type ConsoleParts } from "./parts.ts";
import type { Query } from "./query.ts";
import { storeNowMs } from "./store-now.ts";
import { attemptView, auditView, recordView, twinView } from "./views.ts";

const states = ["processing", "completed", "failed", "unknown"] as const;
/** No index knows the age of a record: where few are of the age that is asked for, so many are read by one statement. */
const readMax = 1_000;
/** Nor callers and operations: so many are looked at by one statement, and by no further one after this long. */
const lookMax = 10_000;
const lookForMs = 100;
/** Open outcomes that are shown, and that are looked at for the oldest of them, page by page. */
const unknownMax = 1_000;
const unknownLookMax = 10_000;
const yearsMs = 3_650 * 86_400_000;
/** Of one record: more are not looked up. */
const eventsMax = 20;

function filterOf(query: Query): Omit<ListQuery, "limit" | "cursor"> {
  const [label, resource] = [query.pair("label"), query.pair("resource")];
  return present({
    state: query.oneOf("state", states),
    operation: query.text("operation"),
    tenant: query.text("tenant"),
    principal: query.text("principal"),
    key: query.text("key"),
    label: label && { name: label[0], value: label[1] },
    resource: resource && { kind: resource[0], id: resource[1] },
  });
}

/** Whether a record is of the age that is asked for. */
function ageOf(query: Query): ((record: StoredRecord, nowMs: number) => boolean) | undefined {
  const older = query.whole("olderThanMs", 0, yearsMs);
  const newer = query.whole("newerThanMs", 0, yearsMs);
  if (older === undefined && newer === undefined) return undefined;
  return ({ createdAtMs }, nowMs) => {
    const ageMs = nowMs - createdAtMs;
    return (older === undefined || ageMs > older) && (newer === undefined || ageMs < newer);
  };
}

/** How many of them one has to take until so many fit; undefined where all together are too few. */
function endOf(
  records: readonly StoredRecord[],
  fits: (record: StoredRecord) => boolean,
  wanted: number,
): number | undefined {
  let found = 0;
  for (const [at, record] of records.entries()) {
    if (fits(record)) found += 1;
    if (found === wanted) return at + 1;
  }
  return undefined;
}

export async function listKeys(asked: Asked): Promise<KeysAnswer> {
  const names = ["state", "operation", "tenant", "principal", "label", "resource", "key", "olderThanMs", "newerThanMs"];
  const query = asked.query(...names, "cursor", "limit");
  const { limit } = query;
  const [filter, isOfAge] = [filterOf(query), ageOf(query)];
  const found: StoredRecord[] = [];
  const { handles } = asked.parts.link;
  const given = query.text("cursor");
  let cursor = given === undefined ? undefined : openCursor(handles, given);
  const nowMs = isOfAge === undefined ? 0 : await storeNowMs(asked.parts);
  const startedMs = performance.now();
  let searched = 0;
  let wanted = limit;
  do {
    const ask = (most: number) => asked.parts.store.list({ ...filter, limit: most, lookMax, ...present({ cursor }) });
    let page = await ask(wanted);
    const over = isOfAge && endOf(page.records, (record) => isOfAge(record, nowMs), limit - found.length);
    // A cursor leads behind all that was read: the page has to end where it is full.
    if (over !== undefined && over < page.records.length) page = await ask(over);
    searched += page.looked ?? page.records.length;
    found.push(...page.records.filter((record) => isOfAge === undefined || isOfAge(record, nowMs)));
    cursor = page.cursor;
    wanted = isOfAge === undefined ? limit - found.length : readMax;
  } while (cursor !== undefined && found.length < limit && performance.now() - startedMs < lookForMs);
  return {
    records: found.map((record) => recordView(asked.parts, record)),
    ...(cursor === undefined ? {} : { cursor: sealedCursor(handles, cursor) }),
    searched,
    isCut: cursor !== undefined && found.length < limit,
  };
}

/** Stores list by key: which are the oldest shows only when all were seen. */
export async function listUnknown(asked: Asked): Promise<UnknownAnswer> {
  asked.query();
  let oldest: readonly StoredRecord[] = [];
  let cursor: string | undefined;
  let searched = 0;
  do {
    const page = await asked.parts.store.list({ state: "unknown", limit: unknownMax, ...present({ cursor }) });
    searched += page.records.length;
    const both = [...oldest, ...page.records];
    oldest = both.toSorted((one, other) => one.createdAtMs - other.createdAtMs).slice(0, unknownMax);
    cursor = page.cursor;
  } while (cursor !== undefined && searched < unknownLookMax);
  return {
    records: oldest.map((record) => recordView(asked.parts, record)),
    searched,
    isCut: cursor !== undefined,
  };
}

/** Events that the operation named as what it made: `ctx.resource({ kind: "event", id })`. */
async function eventsOf(parts: ConsoleParts, ids: readonly string[]): Promise<readonly LinkedEventView[]> {
  const { inbox } = parts.settings;
  return Promise.all(
    ids.slice(0, eventsMax).map(async (id) => {
      const entries = inbox === undefined ? [] : await parts.gate(() => inbox.find(id));
      return { id, handlers: entries.map(({ handler, outcome, atMs }) => ({ handler, outcome, at: iso(atMs) })) };
    }),
  );
}

/** What is offered is what the store takes of the record as it is now. */
function mayDo(asked: Asked, record: StoredRecord): KeyAnswer["may"] {
  return {
    settle: settleRefusalSeen(record) === undefined && may(asked, "settle"),
    forget: forgetRefusalSeen(record) === undefined && may(asked, "erase"),
    reveal: may(asked, "reveal"),
  };
}

export async function showKey(asked: Asked): Promise<KeyAnswer> {
  asked.query();
  const { parts } = asked;
  const record = await recordNamed(asked);
  const { identity, response, fingerprint } = record;
  const [steps, attempts, resources, twins, audit] = await Promise.all([
    parts.store.steps(identity),
    parts.store.attempts(identity),
    parts.store.resources(identity),
    parts.store.twins(identity),
    parts.store.audit(identity),
  ]);
  const events = await eventsOf(
    parts,
    resources.flatMap(({ kind, id }) => (kind === "event" ? [id] : [])),
  );
  const leftOpen = leftOpenOf({ record, attempts, audit });
  const contentType = response?.headers.find(([name]) => name === "content-type")?.[1];
  return {
    record: recordView(parts, record),
    caller: [identity.tenant, identity.principal].filter((part) => part !== undefined).join("/"),
    fingerprint: {
      version: fingerprint.version,
      canonical: Buffer.from(fingerprint.canonical).toString("hex").slice(0, 16),
    },
    steps: steps.map(stepJson),
    attempts: attempts.map((attempt) => attemptView(parts, attempt, leftOpen.has(attempt))),
    resources: resources.map((each) => shownResource(each, identity.key, parts.looking)),
    twins: twins.map((twin) => twinView(parts, record, twin)),
    audit: audit.map((entry) => auditView(parts, { ...entry, record: identity })),
    events,
    ...(response && {
      answer: {
        kind: response.kind,
        status: response.status,
        bytes: response.body.length,
        ...present({ contentType }),
      },
    }),
    now: iso(await storeNowMs(parts)),
    ...present({ link: parts.link.of(identity) }),
    may: mayDo(asked, record),
  };
}

export async function askProbes(asked: Asked): Promise<ProbesAnswer> {
  asked.query();
  const { parts } = asked;
  const record = await recordNamed(asked);
  const evidence = await parts.probeGate(() => gather(parts.store, record, parts.engine.probes ?? {}));
  const hide = (text: string | undefined): string | undefined =>
    shownText(text, record.identity.key, asked.parts.looking);
  const effects = effectsOf(evidence);
  return {
    askedAt: iso(await storeNowMs(parts)),
    probes: evidence.probes.map(({ step, reference, effects: found, problem }) => ({
      step,
      reference,
      effects: found.map(({ id, amount, currency, at }) => {
        const atMs = timeOf(at);
        return { id: hide(id) ?? id, amount, currency, at: atMs === undefined ? undefined : iso(atMs) };
      }),
      problem: hide(problem),
    })),
    effects: { ...effects, problem: hide(effects.problem) },
  };
}
