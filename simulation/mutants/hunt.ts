/** Plays seeds on the source with one rule undone, until an invariant is seen to break. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { Copy, partOf, type Edit, type Mutant } from "./mutant.ts";

export interface Hunt {
  readonly mutant: Mutant;
  /** Absent: not found. */
  readonly found: { readonly seed: number; readonly invariant: string; readonly detail: string } | undefined;
  /** Seeds that were played up to the one that shows it, or all. */
  readonly seeds: number;
  readonly trouble: string;
}

export interface HuntOptions {
  readonly seeds: number;
  readonly from?: number;
  /** Processes side by side. */
  readonly workers?: number;
  /** Edits that are made first. */
  readonly base?: readonly Edit[];
  /** Invariants to pass over, separated by commas. */
  readonly ignore?: string;
  readonly onHunt?: (hunt: Hunt) => void;
}

/** Runs a program of a copy, such as `simulation/main.ts`. */
export function play(
  path: string,
  program: string,
  args: readonly string[],
): Promise<{ readonly out: string; readonly err: string }> {
  return new Promise((resolve, reject) => {
    const flags = ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"];
    const child = spawn(process.execPath, [...flags, join(path, program), "--quiet", ...args], {
      cwd: path,
      // A mutant changes one file or two: the others are compiled once for all mutants of a copy.
      env: { ...process.env, NODE_COMPILE_CACHE: join(path, "compiled") },
    });
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
    child.on("error", reject).on("close", () => resolve({ out, err }));
  });
}

type Shown = Exclude<Hunt["found"], undefined>;

async function firstShown(
  copy: Copy,
  part: string,
  range: { readonly from: number; readonly seeds: number },
  ignore: string,
): Promise<{ readonly found: Shown | undefined; readonly err: string }> {
  const { from, seeds } = range;
  const played = ["--part", part, "--seeds", String(seeds), "--from", String(from), "--ignore", ignore];
  const { out, err } = await play(copy.path, "simulation/main.ts", played);
  const [, seed, invariant = "", detail = ""] = /^seed (\d+): (\S+): (.*)$/m.exec(out) ?? [];
  return { found: seed === undefined ? undefined : { seed: Number(seed), invariant, detail }, err };
}

/** A seed that breaks a promise with the rule in place shows nothing of its undoing: the hunt goes on behind it. */
async function huntOne(copy: Copy, mutant: Mutant, options: HuntOptions): Promise<Hunt> {
  const { seeds, from = 1, ignore = "" } = options;
  const part = partOf(mutant);
  const untilSeed = from + seeds;
  for (let next = from; ;) {
    const undo = copy.edit(mutant.edits);
    const { found, err } = await firstShown(copy, part, { from: next, seeds: untilSeed - next }, ignore).finally(undo);
    if (found === undefined) return { mutant, found, seeds, trouble: err.slice(0, 500) };
    const { found: anyway } = await firstShown(copy, part, { from: found.seed, seeds: 1 }, ignore);
    if (anyway === undefined) return { mutant, found, seeds: found.seed - from + 1, trouble: "" };
    next = found.seed + 1;
    if (next === untilSeed) return { mutant, found: undefined, seeds, trouble: "" };
  }
}

/** In the order of the list, whichever ends first. */
export async function hunt(mutants: readonly Mutant[], options: HuntOptions): Promise<readonly Hunt[]> {
  const hunts = new Map<Mutant, Hunt>();
  const left = [...mutants];
  const work = async (): Promise<void> => {
    const copy = new Copy();
    try {
      copy.edit(options.base ?? []);
      for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
        const hunted = await huntOne(copy, mutant, options);
        hunts.set(mutant, hunted);
        options.onHunt?.(hunted);
      }
    } finally {
      copy.remove();
    }
  };
  await Promise.all(Array.from({ length: options.workers ?? 2 }, work));
  return mutants.flatMap((mutant) => hunts.get(mutant) ?? []);
}
