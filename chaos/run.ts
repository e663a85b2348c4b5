/** One run: a store, a fleet on it, callers, a desk, and everything that goes wrong. Then it is calm, and judged. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { spawnChild, type Child } from "../packages/ichido/src/testing/child.ts";
import { fakeProvider, type FakeProvider } from "../packages/ichido/src/testing/fake-provider.ts";
import { createRandom } from "../simulation/random.ts";
import { inOneFile } from "../test/support/in-one-file.ts";
import { startBackend } from "./backends/backend.ts";
import { Callers } from "./callers.ts";
import { kindsOf, storm } from "./faults/storm.ts";
import { Fleet } from "./fleet.ts";
import { History, type Operation } from "./history.ts";
import { judge } from "./judgement.ts";
import { reportOf, vacuousBy, type Report } from "./report.ts";
import type { Setup, StoreName } from "./setup.ts";
import { Tally } from "./tally.ts";
import type { Told } from "./told.ts";

export type Control = "none" | "naive" | "no-fence";

export interface RunOptions {
  readonly store: StoreName;
  readonly seconds: number;
  readonly seed: number;
  readonly control: Control;
  readonly servers?: number;
  readonly callers?: number;
  /** Kinds of faults, by name; absent: all that the store can suffer. */
  readonly only?: readonly string[];
  readonly progress?: (line: string) => void;
}

/** After the last fault every key comes to its answer: the next one within this time, all within five times of it. */
const settleMs = 60_000;
const settlesMax = 5;
const longerMax = 2;
const tickMs = 1_000;
/** Not all at once: a crowd would be one more fault. */
const askedAtOnce = 24;

async function sideBySide(all: readonly Operation[], work: (operation: Operation) => Promise<unknown>): Promise<void> {
  const left = [...all];
  const next = async (): Promise<void> => {
    for (let operation = left.pop(); operation !== undefined; operation = left.pop()) await work(operation);
  };
  await Promise.all(Array.from({ length: askedAtOnce }, next));
}

/** The source that the processes run, and how to be rid of it. */
interface Source {
  readonly root: string;
  remove(): void;
}

async function sourceOf(control: Control): Promise<Source> {
  if (control === "no-fence") return (await import("./no-fence.ts")).withoutFence();
  return { root: join(import.meta.dirname, ".."), remove: () => {} };
}

const programIn = ({ root }: Source, name: string): Promise<string> =>
  inOneFile(pathToFileURL(join(root, "chaos", name)));

async function tellBy(desk: Child): Promise<Told> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-told-"));
  const file = join(folder, "told.json");
  desk.write(`tell ${file}`);
  await desk.waitFor(new RegExp(`^told ${file}$`), settleMs);
  const told = JSON.parse(readFileSync(file, "utf8")) as Told;
  rmSync(folder, { recursive: true });
  return told;
}

/** Everything again that has no answer; then everything once more, which must be what was answered before. */
async function settleAll(history: History, callers: Callers): Promise<number> {
  const beganMs = performance.now();
  let untilMs = beganMs + settleMs;
  const open = history.operations.filter(({ answer }) => answer === undefined);
  await sideBySide(open, async (operation) => {
    if (!(await callers.insist(operation, () => untilMs, true))) return;
    // A busy machine is slow, but gets on.
    untilMs = Math.min(performance.now() + settleMs, beganMs + settlesMax * settleMs);
  });
  const settledMs = performance.now() - beganMs;
  for (const { answer, policy, order, last } of history.operations) {
    if (answer === undefined)
      history.violate("stuck", `${policy} ${order.intent}: still ${last} after ${Math.round(settledMs)} ms`);
  }
  const answered = history.operations.filter(({ answer }) => answer !== undefined);
  await sideBySide(answered, (operation) => {
    const againMs = performance.now() + settleMs;
    return callers.insist(operation, () => againMs, true);
  });
  return settledMs;
}

export async function run(options: RunOptions): Promise<Report> {
  const { store, seconds, seed, control, only } = options;
  const random = createRandom(seed);
  const source = await sourceOf(control);
  const banks: readonly FakeProvider[] = await Promise.all([fakeProvider(), fakeProvider({ dedupes: false })]);
  const [honest = "", deaf = ""] = banks.map(({ url }) => url);
  const setup: Omit<Setup, "url" | "wire"> = { store, banks: { honest, deaf }, naive: control === "naive" };
  let deskRead = 0;
  let order: (line: string) => void = () => {};
  const backend = await startBackend(store, (line) => order(line));
  const history = new History(backend.isForgetful);
  const told: Setup = { ...setup, url: backend.url, wire: "http1" };
  const desk = await spawnChild(await programIn(source, "desk.child.ts"), {
    args: [JSON.stringify(told)],
    readyPattern: /^ready$/,
    readyMs: settleMs,
  });
  const program = await programIn(source, "server.child.ts");
  const tally = new Tally();
  const { servers = 5, callers: callersSide = 24 } = options;
  const fleet = await Fleet.launch({
    program,
    setup,
    url: backend.url,
    isProxied: backend.line !== undefined,
    servers,
    tally,
    random,
    isCalm: only?.includes("kill-at-point") === false,
  });
  order = (line) => {
    fleet.order(line);
    desk.write(line);
  };
  try {
    while (fleet.ready.length < servers && tally.seconds < settleMs / 1_000) await sleep(20);
    const isSqlite = store === "sqlite";
    const callers = new Callers({
      fleet,
      history,
      tally,
      random,
      policies: backend.policies,
      insideMsMax: isSqlite ? 0 : 100,
      mishaps: (["answer-lost", "caller-gone"] as const).filter((mishap) => only?.includes(mishap) ?? true),
    });
    const kinds = kindsOf({ backend, only });
    const beganMs = performance.now();
    const endMs = beganMs + seconds * 1_000;
    // On a busy machine it takes longer until everything was seen that a run must show.
    const isOver = (): boolean =>
      performance.now() >= endMs &&
      (control !== "none" ||
        only !== undefined ||
        vacuousBy({ options, history, tally, kinds }).length === 0 ||
        performance.now() >= endMs + longerMax * seconds * 1_000);
    const ticking = setInterval(() => {
      fleet.read();
      deskRead = tally.read(desk.lines, deskRead);
      options.progress?.(`${progressOf(history, tally)}${stillOf(vacuousBy({ options, history, tally, kinds }))}`);
    }, tickMs);
    await Promise.all([
      storm({ fleet, backend, banks, random, only }, tally, isOver),
      ...Array.from({ length: callersSide }, () => callers.run(isOver)),
    ]);
    clearInterval(ticking);
    const ranSeconds = (performance.now() - beganMs) / 1_000;
    fleet.calm();
    const settledMs = await settleAll(history, callers);
    judge(
      history,
      { told: await tellBy(desk), charges: banks.flatMap((bank) => bank.ledger()) },
      { hasRecords: control !== "naive" },
    );
    await fleet.stop();
    await desk.stop();
    tally.read(desk.lines, deskRead);
    return reportOf({ options, history, tally, seconds: ranSeconds, settledMs, kinds });
  } finally {
    await fleet.stop();
    await desk.stop();
    await backend.stop();
    for (const bank of banks) await bank.close();
    source.remove();
  }
}

const stillOf = (missing: readonly string[]): string => (missing.length === 0 ? "" : `; ${missing.join(", ")}`);

function progressOf({ operations, answers, violations }: History, tally: Tally): string {
  const { seconds, faultsInAll } = tally;
  const counts = `${operations.length} operations, ${answers} answers, ${faultsInAll} faults`;
  return `${seconds.toFixed(0)} s: ${counts}, ${violations.length} violations`;
}
