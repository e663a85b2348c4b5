/** The page that tells how many seeds each mutant needed. */
import type { Hunt } from "./hunt.ts";

export const tablePath = "docs/reference/proof-mutants.md";

const head = `# Rules undone, and the seeds that show it

Written by \`npm run proof:mutants\`: each row is the source with one rule undone (\`simulation/mutants\`), the number of seeds
until the simulation saw a promise broken, and which. One generator, one mix of faults and the same invariants for all.

| Undone | Seeds | Broken |
|---|---:|---|
`;

export function tableOf(hunts: readonly Hunt[]): string {
  const rows = hunts.map(
    ({ mutant, found, seeds }) => `| ${mutant.name} | ${seeds} | ${found?.invariant ?? "nothing"} |`,
  );
  return `${head}${rows.join("\n")}\n`;
}

/** Seeds by name, as the page has them. */
export function seedsIn(page: string): ReadonlyMap<string, number> {
  const rows = page.matchAll(/^\| (.+?) \| (\d+) \| \S+ \|$/gm);
  return new Map(Array.from(rows, ([, name = "", seeds]) => [name, Number(seeds)]));
}
