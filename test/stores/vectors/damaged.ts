/** Rows as no verb leaves them. Whatever is gone of one, an attempt may have run: nobody gets it, and nothing is written. */
import { isDeepStrictEqual } from "node:util";
import { arrangements, claimVectors } from "./cases.ts";
import { outcomeOf, type Bed } from "./check.ts";
import { trustedTick } from "./ticks.ts";

const enough = 20;

export async function damagedDifferences(bed: Bed): Promise<readonly string[]> {
  const found: string[] = [];
  // Within their retention: past it, a record may go whatever it says.
  const arranged = arrangements(["before"], ["none"]).filter(({ record }) => record?.doubtStays === false);
  for (const damage of bed.damages ?? []) {
    const vectors = claimVectors({ trusted: true, arranged, fingerprints: ["raw"] });
    const placed = vectors.flatMap(({ identity, before }) =>
      before === undefined ? [] : [{ identity, record: before, damage }],
    );
    const store = await bed.arrange(placed, trustedTick);
    const before = await bed.rows?.();
    const results = await Promise.all(vectors.map((vector) => outcomeOf(vector.apply(store))));
    for (const [at, { title, before: there }] of vectors.entries()) {
      const got = JSON.stringify(results[at]) ?? "nothing";
      // A defect, and not a server that cannot be reached.
      if (there !== undefined && !/"(internal-error|TypeError: )/.test(got)) found.push(`${damage}: ${title}: ${got}`);
    }
    if (!isDeepStrictEqual(await bed.rows?.(), before)) found.push(`${damage}: something was written`);
    if (found.length > 0) return found.slice(0, enough);
  }
  return found;
}
