/**
 * `npm run simulate -- --seeds N [--from S]` plays N seeds; `--seed X` plays one, tells its history and shrinks it where it
 * goes wrong; `--workers M` plays them in M processes and sums up, `--summary FILE` adds that as a row to a page, `--json FILE` writes it as data; `--part events` those of outbox, relay and inbox; `--twice` plays each seed twice and compares, `--turns` plays it a second time by turns of the event loop.
 */
import { parseArgs } from "node:util";
import { beginRun } from "../scripts/proof/run.ts";
import { refuseUnheeded, wholeNumber } from "./arguments.ts";
import { runEventsHistory, runEventsHistoryByTurns } from "./events/history.ts";
import { runHistory, runHistoryByTurns } from "./history.ts";
import { sealGlobals } from "./sealed-globals.ts";
import { shrink, type Play, type Told } from "./shrink.ts";
import { summaryOf } from "./summary.ts";
import { runTransactionsHistory, runTransactionsHistoryByTurns } from "./transactions/history.ts";
import { averagesOf, playAll, type Played } from "./workers.ts";
import { nothingOmitted } from "./world.ts";

const { values, tokens } = parseArgs({
  tokens: true,
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    part: { type: "string", default: "engine" },
    all: { type: "boolean", default: false },
    /** Invariants to pass over, separated by commas; for looking behind what is known. */
    ignore: { type: "string", default: "" },
    twice: { type: "boolean", default: false },
    turns: { type: "boolean", default: false },
    workers: { type: "string" },
    summary: { type: "string" },
    /** The last line tells what was played, for a program to read. */
    tell: { type: "boolean", default: false },
    json: { type: "string" },
    quiet: { type: "boolean", default: false },
    whole: { type: "boolean", default: false },
  },
});

refuseUnheeded(tokens.flatMap((token) => (token.kind === "option" ? [token.name] : [])));
const from = wholeNumber("from", values.from, 0);
const seeds = wholeNumber("seeds", values.seeds, 1);
const seed = values.seed === undefined ? undefined : wholeNumber("seed", values.seed, 0);
const workers = values.workers === undefined ? undefined : wholeNumber("workers", values.workers, 1);

interface Part {
  readonly play: Play;
  readonly playByTurns: (seed: number) => Promise<Told>;
}

/** A line each. */
const parts: Readonly<Record<string, Part>> = {
  engine: { play: runHistory, playByTurns: runHistoryByTurns },
  events: { play: runEventsHistory, playByTurns: runEventsHistoryByTurns },
  transactions: { play: runTransactionsHistory, playByTurns: runTransactionsHistoryByTurns },
};
const chosen = parts[values.part];
if (chosen === undefined)
  throw new RangeError(`--part: expected ${Object.keys(parts).join(" or ")}, got ${values.part}`);
const { play, playByTurns } = chosen;

const omitted = { ...nothingOmitted, invariants: new Set(values.ignore.split(",")) };
const keep = beginRun(values.json);
const clockMs = performance.now.bind(performance);

/** From a callback of the event loop, never from a microtask: the histories drain the microtasks themselves. */
function sealed<Value>(work: () => Value): Promise<Value> {
  return new Promise((resolve, reject) => {
    setImmediate(() => {
      const unseal = sealGlobals();
      try {
        resolve(work());
      } catch (error) {
        reject(error as Error);
      } finally {
        unseal();
      }
    });
  });
}

function tell(history: Told): void {
  const { violation } = history;
  if (violation === undefined) return;
  console.log(`seed ${history.seed}: ${violation.invariant}: ${violation.detail}`);
}

async function one(seed: number): Promise<void> {
  const history = await sealed(() => play(seed, omitted, true));
  const { violation } = history;
  if (violation === undefined || values.whole) {
    console.log(history.lines.join("\n"));
    tell(history);
    console.log(`seed ${seed}: hash ${history.hash}`, JSON.stringify(history.counts));
    return;
  }
  const smallest = await sealed(() => shrink(play, history, omitted));
  console.log(JSON.stringify(smallest.history.plan, undefined, 1).replaceAll(/\n\s{4,}/g, " "));
  console.log(smallest.history.lines.join("\n"));
  console.log(
    `left out: ${smallest.items} of ${history.plan.items.length} items, ${smallest.fates} of ${history.fates.length} faults`,
  );
  tell(smallest.history);
  process.exitCode = 1;
}

async function many(from: number, count: number): Promise<void> {
  const startedMs = clockMs();
  const totals: Record<string, number> = {};
  const found = new Map<string, { first: number; times: number }>();
  const batch = 50;
  let done = 0;
  let hash = 0;
  let saidMs = startedMs;
  while (done < count) {
    const size = Math.min(batch, count - done);
    const first = from + done;
    const histories = await sealed(() => {
      const played: Told[] = [];
      for (let seed = first; seed < first + size; seed += 1) {
        const history = play(seed, omitted);
        played.push(history);
        if (values.twice && play(seed, omitted).hash !== history.hash)
          throw new Error(`seed ${seed} is not deterministic`);
        if (history.violation !== undefined && !values.all) break;
      }
      return played;
    });
    for (const history of histories) {
      for (const [name, value] of Object.entries(history.counts)) totals[name] = (totals[name] ?? 0) + value;
      hash = (Math.imul(hash, 31) + Number.parseInt(history.hash.slice(0, 8), 16)) >>> 0;
      if (history.violation === undefined) continue;
      const { invariant } = history.violation;
      const entry = found.get(invariant);
      if (entry === undefined) {
        found.set(invariant, { first: history.seed, times: 1 });
        tell(history);
      } else entry.times += 1;
    }
    done += histories.length;
    const nowMs = clockMs();
    if (!values.quiet && nowMs - saidMs > 5_000) {
      saidMs = nowMs;
      console.log(`${done} of ${count} seeds, ${Math.round((done * 1_000) / (nowMs - startedMs))} a second`);
    }
    if (found.size > 0 && !values.all) break;
  }
  const played: Played = {
    seeds: done,
    totals,
    found: Array.from(found, ([invariant, { first, times }]) => ({ invariant, first, times })),
  };
  tellAll(played, from, startedMs);
  note(played, from);
  console.log(`hash of all traces: ${hash.toString(16)}${values.twice ? ", each seed twice the same" : ""}`);
  if (values.tell) console.log(JSON.stringify(played));
}

function tellAll(played: Played, from: number, startedMs: number): void {
  const { seeds, found } = played;
  const passedMs = clockMs() - startedMs;
  const rate = Math.round((seeds * 1_000) / passedMs);
  console.log(`${seeds} seeds from ${from} in ${(passedMs / 1_000).toFixed(1)} s (${rate} a second)`);
  console.log(`on average: ${averagesOf(played)}`);
  for (const { invariant, first, times } of found.toSorted((a, b) => b.times - a.times)) {
    console.log(`${invariant}: ${times} seeds, first ${first}`);
  }
  console.log(`${found.reduce((sum, { times }) => sum + times, 0)} violations`);
  if (found.length > 0) process.exitCode = 1;
}

function note({ seeds, totals, found }: Played, from: number): void {
  keep({
    kind: "simulation",
    what: values.part,
    command: `npm run simulate -- --part ${values.part} --seeds ${seeds} --from ${from} --workers 2`,
    tried: seeds,
    unit: "histories",
    ...(totals["faults"] === undefined ? {} : { faults: totals["faults"] }),
    seeds: `${from} to ${from + seeds - 1}`,
    counts: Object.fromEntries(Object.entries(totals).filter(([name]) => name !== "faults")),
    violations: found.reduce((sum, { times }) => sum + times, 0),
  });
}

/** In processes of their own; every violation is counted. */
async function byWorkers(from: number, count: number, workers: number): Promise<void> {
  const startedMs = clockMs();
  const write = values.summary === undefined ? undefined : summaryOf(values.summary, values.part, from);
  const played = await playAll({ part: values.part, from, seeds: count, workers }, ({ seeds, found }) => {
    if (!values.quiet) console.log(`${seeds} of ${count} seeds, ${found.length} invariants broken`);
  });
  tellAll(played, from, startedMs);
  note(played, from);
  write?.(played);
}

/** Whatever the microtasks of an event are drained by, the history is the same. */
async function byTurns(from: number, count: number): Promise<void> {
  for (let seed = from; seed < from + count; seed += 1) {
    const { hash } = await sealed(() => play(seed));
    const unseal = sealGlobals();
    const slow = await playByTurns(seed).finally(unseal);
    if (slow.hash !== hash) throw new Error(`seed ${seed}: ${hash} at once, ${slow.hash} by turns`);
  }
  console.log(`${count} seeds from ${from}: the same at once and by turns of the event loop`);
}

Error.stackTraceLimit = seed === undefined ? 0 : 20;
if (seed !== undefined) await one(seed);
else if (values.turns) await byTurns(from, seeds);
else if (workers !== undefined) await byWorkers(from, seeds, workers);
else await many(from, seeds);
