/** The page that tells how many seeds each mutant needed. */
import type { Hunt } from "./hunt.ts";
import { partOf, type Mutant } from "./mutant.ts";

export const tablePath = "docs/reference/proof-mutants.md";

const head = `# Rules undone, and the seeds that show it

Written by \`npm run proof:mutants\`: each row is the source with one rule undone (\`simulation/mutants\`), the part of the
simulation that has to show it, the number of seeds until it saw a promise broken, and which. One generator, one mix of
faults and the same invariants for all mutants of a part.

| Undone | Part | Seeds | Broken |
|---|---|---:|---|
`;

export interface Row {
  readonly name: string;
  readonly part: string;
  readonly seeds: number;
  readonly broken: string;
}

const rowOf = ({ mutant, seeds }: Hunt, broken: string): Row => ({
  name: mutant.name,
  part: partOf(mutant),
  seeds,
  broken,
});

/** What the page says. */
export function rowsIn(page: string): readonly Row[] {
  const rows = page.matchAll(/^\| (.+?) \| (\w+) \| (\d+) \| (\S+) \|$/gm);
  return Array.from(rows, ([, name = "", part = "", seeds, broken = ""]) => ({
    name,
    part,
    seeds: Number(seeds),
    broken,
  }));
}

/** In the order of the list: what was found now, else what the page says already of what was not hunted now. */
export function tableOf(mutants: readonly Mutant[], hunts: readonly Hunt[], page: string): string {
  const rows = new Map(rowsIn(page).map((row) => [row.name, row]));
  for (const each of hunts) {
    if (each.found === undefined) rows.delete(each.mutant.name);
    else rows.set(each.mutant.name, rowOf(each, each.found.invariant));
  }
  const lines = mutants.flatMap(({ name }) => {
    const row = rows.get(name);
    return row === undefined ? [] : [`| ${row.name} | ${row.part} | ${row.seeds} | ${row.broken} |`];
  });
  return `${head}${lines.join("\n")}\n`;
}
