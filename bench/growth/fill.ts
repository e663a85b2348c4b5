/** Fills a level. What a fill that was cut off left behind goes first. */
import { setImmediate as breathe } from "node:timers/promises";
import { keyIn, type Bed, type Bytes, type Place } from "./bed.ts";
import { firstFreshOf, nameOf, type Level } from "./level.ts";
import { write } from "./verbs.ts";

/** Records that are added at once, from one line of progress to the next. */
const chunk = 100_000;
/** As the crowd that writes them. */
const writers = 64;

export interface Filled {
  readonly bytes: Bytes;
  readonly seconds: number;
}

async function writeOwn({ store, level }: Bed): Promise<void> {
  let number = 0;
  const writer = async (): Promise<void> => {
    while (number < level.rows) await write(store, keyIn(level, (number += 1)));
  };
  await Promise.all(Array.from({ length: writers }, writer));
}

async function addAll(bed: Bed, say: (line: string) => void): Promise<void> {
  const { level } = bed;
  const firstFresh = firstFreshOf(level);
  for (let from = 1; from <= level.rows;) {
    const isExpired = from < firstFresh;
    const to = Math.min(from + (bed.atOnce ?? chunk), isExpired ? firstFresh : level.rows + 1) - 1;
    say(`${nameOf(level)}: ${to} records`);
    await bed.add(from, to, isExpired);
    from = to + 1;
    await breathe();
  }
}

export async function fill(place: Place, level: Level, say: (line: string) => void): Promise<Filled> {
  const startMs = Date.now();
  const bed = await place.create(level);
  const before = await bed.bytes();
  if (level.shape === "own") await writeOwn(bed);
  else await addAll(bed, say);
  say(`${nameOf(level)}: settles`);
  await bed.settle?.();
  const after = await bed.bytes();
  await bed.close();
  const indexes = after.indexes === undefined ? undefined : after.indexes - (before.indexes ?? 0);
  return { bytes: { all: after.all - before.all, indexes }, seconds: (Date.now() - startMs) / 1_000 };
}
