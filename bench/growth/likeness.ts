/**
 * Whether a filled record is what the store itself writes: the store answers it as a replay, and has the same columns
 * null and the same number of bytes in every other one.
 */
import { keyIn, type Bed, type Likeness } from "./bed.ts";
import { newKey } from "./keys.ts";
import { firstFreshOf, keyKindOf, nameOf } from "./level.ts";
import { replay, write } from "./verbs.ts";

function differences(filled: Likeness, own: Likeness): readonly string[] {
  const names = new Set([...Object.keys(filled), ...Object.keys(own)]);
  return [...names]
    .filter((name) => filled[name] !== own[name])
    .map((name) => `${name}: ${String(filled[name])} instead of ${String(own[name])}`);
}

export interface Comparison {
  readonly filled: Likeness | undefined;
  readonly own: Likeness | undefined;
}

/** The first filled record beside one that the store writes now, and that is removed again. */
export async function compared(bed: Bed): Promise<Comparison> {
  const [filled, own] = [keyIn(bed.level, firstFreshOf(bed.level)), newKey(keyKindOf(bed.level))];
  await replay(bed.store, filled);
  await write(bed.store, own, bed.retentionMs);
  const seen = { filled: await bed.likenessOf(filled), own: await bed.likenessOf(own) };
  await bed.remove([own]);
  return seen;
}

export async function checkLikeness(bed: Bed): Promise<void> {
  const { filled, own } = await compared(bed);
  if (bed.level.store === "memory") return;
  if (filled === undefined || own === undefined) throw new Error(`${nameOf(bed.level)}: a record is missing`);
  const different = differences(filled, own);
  if (different.length > 0)
    throw new Error(`${nameOf(bed.level)}: filled records are not like the store's own: ${different.join("; ")}`);
}
