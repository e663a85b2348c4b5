/** Storage, Traffic, Doctor, Audit: what is counted, by whom and since when, and what people did. */
import { present } from "../core/contract/present.ts";
import { diagnose } from "../operations/index.ts";
import { liveNotes, readNote } from "../operations/engines-check.ts";
import { iso } from "../operations/told-record.ts";
import type { LoggedAttempt, RecordName } from "../core/contract/history.ts";
import type { AuditAnswer, DoctorAnswer, StorageAnswer, TrafficAnswer } from "./contract.ts";
import type { Asked, ConsoleParts } from "./parts.ts";
import { newestAudit, type AuditPlace } from "./newest-audit.ts";
import { Problem } from "./problem.ts";
import { growthOf } from "./samples.ts";
import { storeNowMs } from "./store-now.ts";
import { minuteMs, Minutes } from "./traffic-ring.ts";
import { auditView, nameView } from "./views.ts";

const dayMs = 86_400_000;
/** Of the attempt log, for one look at Traffic. */
const pageMax = 1_000;
const pagesMax = 4;
const hourMs = 3_600_000;
/** Open outcomes that are compared with it. */
const openMax = 1_000;

const nameOf = ({ key, scopeHash }: Pick<RecordName, "key" | "scopeHash">): string =>
  `${Buffer.from(scopeHash).toString("base64")} ${key}`;

export async function showStorage(asked: Asked): Promise<StorageAnswer> {
  asked.query();
  const { samples, store } = asked.parts;
  await samples.now();
  const [first] = samples.all;
  const notes = await liveNotes(store).catch(() => []);
  const retention = new Map(
    notes.flatMap(({ operations }) =>
      Object.entries(operations).map(
        ([operation, { options }]) => [operation, Number(options["retentionMs"])] as const,
      ),
    ),
  );
  return {
    counted: { by: "store", since: first?.at ?? iso(samples.sinceMs) },
    samples: samples.all,
    tookMs: samples.tookMs,
    ...present({ problem: samples.problem, growth: growthOf(samples.all) }),
    retention: [...retention].flatMap(([operation, retentionMs]) =>
      Number.isFinite(retentionMs) ? [{ operation, retentionMs }] : [],
    ),
  };
}

interface Read {
  readonly entries: readonly LoggedAttempt[];
  readonly isCut: boolean;
}

async function readLog(store: ConsoleParts["store"], fromAgoMs: number, pages: number): Promise<Read> {
  const entries: LoggedAttempt[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < pages; page += 1) {
    const from = cursor === undefined ? { fromAgoMs } : { cursor };
    const read = await store.follow({ limit: pageMax, ...from });
    entries.push(...read.entries);
    if (read.entries.length < pageMax) return { entries, isCut: false };
    ({ cursor } = read);
  }
  return { entries, isCut: true };
}

/**
 * The log does not say which runs left their outcome open: of a record that is open now, the last one did. Only runs
 * whose outcome somebody settled since are counted as new ones again.
 */
async function openRuns(
  store: ConsoleParts["store"],
  entries: readonly LoggedAttempt[],
): Promise<ReadonlySet<LoggedAttempt>> {
  const { records } = await store.list({ state: "unknown", limit: openMax });
  const lastRuns = new Map<string, LoggedAttempt | undefined>(
    records.map(({ identity }) => [nameOf(identity), undefined]),
  );
  for (const entry of entries) {
    const name = nameOf(entry.record);
    if (entry.outcome === "executed" && lastRuns.has(name)) lastRuns.set(name, entry);
  }
  return new Set([...lastRuns.values()].filter((run) => run !== undefined));
}

/** The last hour; where that is more than a page, as much of its end as a few pages hold at the pace of the first one. */
async function fromLog({ store }: ConsoleParts): Promise<TrafficAnswer["series"][number]> {
  const nowMs = await storeNowMs({ store });
  let spanMs = hourMs;
  let read = await readLog(store, spanMs, 1);
  if (read.isCut) {
    const pageMs = (read.entries.at(-1)?.atMs ?? 0) - (nowMs - hourMs);
    spanMs = Math.min(hourMs, Math.max(minuteMs, pageMs * (pagesMax - 1)));
    read = await readLog(store, spanMs, pagesMax);
  }
  const open = await openRuns(store, read.entries);
  const minutes = new Minutes();
  for (const entry of read.entries) minutes.add(entry.atMs, entry.outcome, open.has(entry));
  const untilMs = read.isCut ? (read.entries.at(-1)?.atMs ?? nowMs) : nowMs;
  return {
    counted: { by: "log", since: iso(nowMs - spanMs) },
    minutes: minutes.between(nowMs - spanMs, untilMs),
    isCut: read.isCut || spanMs < hourMs,
  };
}

export async function showTraffic(asked: Asked): Promise<TrafficAnswer> {
  asked.query();
  const { parts } = asked;
  const { traffic, store, link } = parts;
  const log = link.isLogged ? await fromLog(parts) : undefined;
  const { entries } = await store.suspects({ limit: 200, fromAgoMs: dayMs });
  const since = iso(Date.now() - dayMs);
  return {
    series: [
      ...(parts.engine.on === undefined
        ? []
        : [
            {
              counted: { by: "process" as const, process: `${process.pid}`, since: iso(traffic.sinceMs) },
              minutes: traffic.minutes(),
              isCut: false,
            },
          ]),
      ...(log === undefined ? [] : [log]),
    ],
    suspectedDuplicates: {
      counted: { by: "store", since },
      pairs: entries.map(({ atMs, apartMs, first, second }) => ({
        at: iso(atMs),
        apartMs,
        operation: second.operation,
        first: nameView(parts, first),
        second: nameView(parts, second),
      })),
      isCut: entries.length === 200,
    },
  };
}

export async function showDoctor(asked: Asked): Promise<DoctorAnswer> {
  asked.query();
  const { store, settings, probeGate } = asked.parts;
  const { outbox, inbox, doctor } = settings;
  const findings = await probeGate(() => diagnose({ ichido: { store }, ...present({ outbox, inbox }), ...doctor }));
  const inspected = await store.inspect?.().catch(() => undefined);
  const noted = (await store.engines?.().catch(() => [])) ?? [];
  return {
    findings: findings.map(({ code, severity, what, remedy }) => ({ code, severity, what, remedy })),
    askedAt: iso(inspected?.nowMs ?? Date.now()),
    server: inspected?.server,
    engines: noted.flatMap(({ text, ageMs }) => {
      const note = readNote(text);
      if (note === undefined) return [];
      const { process: name, runtime, release, operations } = note;
      return [{ process: name, runtime, release, ageMs, operations: Object.keys(operations) }];
    }),
  };
}

const auditDaysMs = 30 * dayMs;

/** `1789747200000-3`: before this moment, of which three were shown. */
function auditPlaceOf(given: string | undefined): AuditPlace {
  if (given === undefined) return { beforeMs: Number.MAX_SAFE_INTEGER, shown: 0 };
  const [, beforeMs, shown] = /^(\d{1,15})-(\d{1,9})$/.exec(given) ?? [];
  if (beforeMs !== undefined) return { beforeMs: Number(beforeMs), shown: Number(shown) };
  throw new Problem("parameter", "cursor: expected the value that a former page gave; begin again without one", {
    parameter: "cursor",
  });
}

export async function showAudit(asked: Asked): Promise<AuditAnswer> {
  const query = asked.query("newerThanMs", "cursor", "limit");
  const { store } = asked.parts;
  const place = auditPlaceOf(query.text("cursor"));
  const nowMs = await storeNowMs({ store });
  const sinceMs = nowMs - (query.whole("newerThanMs", 0, 3_650 * dayMs) ?? auditDaysMs);
  const { entries, next } = await newestAudit(store, { nowMs, sinceMs, place, limit: query.limit });
  return {
    entries: entries.map((entry) => auditView(asked.parts, entry)),
    ...(next && { cursor: `${next.beforeMs}-${next.shown}` }),
  };
}
