/** Many seeds over several processes, and what they came to, summed up. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** What one process played, as its last line tells it. */
export interface Played {
  readonly seeds: number;
  /** By name, over all seeds. */
  readonly totals: Readonly<Record<string, number>>;
  readonly found: readonly Found[];
}

export interface Found {
  readonly invariant: string;
  readonly first: number;
  readonly times: number;
}

/** Small enough to be told of as they end, large enough that starting and warming up a process costs little. */
const batchSeedsMax = 25_000;
const main = fileURLToPath(new URL("main.ts", import.meta.url));

function playBatch(part: string, from: number, seeds: number): Promise<Played> {
  const flags = ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"];
  const args = ["--part", part, "--from", String(from), "--seeds", String(seeds), "--all", "--tell", "--quiet"];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...flags, main, ...args], { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
    child.on("error", reject).on("close", () => {
      const last = out.trimEnd().split("\n").at(-1) ?? "";
      if (last.startsWith("{")) resolve(JSON.parse(last) as Played);
      else reject(new Error(`seeds ${from} to ${from + seeds - 1} were not played to their end: ${out.slice(-500)}`));
    });
  });
}

export function summed(one: Played, other: Played): Played {
  const totals: Record<string, number> = { ...one.totals };
  for (const [name, value] of Object.entries(other.totals)) totals[name] = (totals[name] ?? 0) + value;
  const found = new Map<string, Found>();
  for (const { invariant, first, times } of [...one.found, ...other.found]) {
    const known = found.get(invariant) ?? { first, times: 0 };
    found.set(invariant, { invariant, first: Math.min(known.first, first), times: known.times + times });
  }
  return { seeds: one.seeds + other.seeds, totals, found: [...found.values()] };
}

export async function playAll(
  options: { readonly part: string; readonly from: number; readonly seeds: number; readonly workers: number },
  onBatch: (soFar: Played) => void,
): Promise<Played> {
  const endSeed = options.from + options.seeds;
  const batchSeeds = Math.min(batchSeedsMax, Math.ceil(options.seeds / options.workers));
  let next = options.from;
  let soFar: Played = { seeds: 0, totals: {}, found: [] };
  const work = async (): Promise<void> => {
    while (next < endSeed) {
      const from = next;
      next = Math.min(endSeed, from + batchSeeds);
      const played = await playBatch(options.part, from, next - from);
      soFar = summed(soFar, played);
      onBatch(soFar);
    }
  };
  await Promise.all(Array.from({ length: options.workers }, work));
  return soFar;
}

export function averagesOf({ seeds, totals }: Played): string {
  return Object.entries(totals)
    .map(([name, value]) => `${name} ${(value / seeds).toFixed(1)}`)
    .join(", ");
}
