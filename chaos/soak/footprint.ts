/** What a soak takes up as it goes on: resident memory of its processes, and the store. */
import { readFileSync } from "node:fs";
import type { Stage } from "../stage.ts";

export interface Footprint {
  readonly minute: number;
  /** Resident memory in megabytes: whoever asks and judges, the server that is never killed, the desk. */
  readonly runnerMb: number;
  readonly veteranMb: number;
  readonly deskMb: number;
  /** What the store's data take up. */
  readonly storeMb: number;
  readonly records: number;
}

type Part = Exclude<keyof Footprint, "minute">;

/** What it was in the beginning may grow by this half and this much more; processes and stores have reserves. */
const factor = 1.5;
const reserves: Readonly<Record<Part, number>> = {
  runnerMb: 96,
  veteranMb: 96,
  deskMb: 96,
  storeMb: 64,
  records: 2_000,
};

const mega = 1_048_576;

function residentMb(pid: number | undefined): number {
  if (pid === undefined) return 0;
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(kilobytes ?? 0) / 1_024);
}

export async function footprintOf(stage: Stage, records: number): Promise<Footprint> {
  const veteran = stage.fleet.berths.find(({ isVeteran }) => isVeteran);
  return {
    minute: Math.round(stage.tally.seconds / 6) / 10,
    runnerMb: residentMb(process.pid),
    veteranMb: residentMb(veteran?.child?.pid),
    deskMb: residentMb(stage.desk.pid),
    storeMb: Math.round(((await stage.backend.bytes?.()) ?? 0) / mega),
    records,
  };
}

const medianOf = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? 0;

/**
 * What has grown beyond its bound: the last third of the samples against the third before it. The first third is
 * warming up: until the first records are past their retention, the store only grows.
 */
export function grownBy(samples: readonly Footprint[]): readonly string[] {
  const third = Math.floor(samples.length / 3);
  if (third === 0) return [];
  const before = samples.slice(third, 2 * third);
  const after = samples.slice(-third);
  return (Object.keys(reserves) as Part[]).flatMap((part) => {
    const was = medianOf(before.map((sample) => sample[part]));
    const is = medianOf(after.map((sample) => sample[part]));
    const bound = Math.round(was * factor + reserves[part]);
    return is > bound ? [`${part} was ${was} and is ${is}, more than ${bound}`] : [];
  });
}
