/** The control: ichido's source with the comparison of owner and fence edited out, on a copy, in every store. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Copy, placeOf } from "../simulation/mutants/mutant.ts";

interface Undoing {
  readonly file: string;
  /** What is replaced wherever it stands. */
  readonly rules: readonly (readonly [find: RegExp, replace: string])[];
}

const undoings: readonly Undoing[] = [
  {
    file: "stores/sqlite/statements.generated.ts",
    rules: [[/AND owner = \? AND fence = \?/g, "AND ? IS NOT NULL AND ? IS NOT NULL"]],
  },
  {
    file: "stores/postgres/statements.generated.ts",
    rules: [
      [/r\.owner = owners\[i\] and r\.fence = fences\[i\]/g, "true"],
      [/r\.owner = of_owner and r\.fence = of_fence/g, "true"],
      [/r\.owner = a\.owner and r\.fence = a\.fence/g, "true"],
      [/r\.owner = \$3::uuid and r\.fence = \$4::bigint/g, "$3::uuid is not null and $4::bigint is not null"],
    ],
  },
  {
    file: "stores/mysql/statements.generated.ts",
    rules: [[/(r\.)?owner = :owner and (r\.)?fence = :fence/g, ":owner is not null and :fence is not null"]],
  },
  {
    file: "stores/redis/statements.generated.ts",
    rules: [
      [/row\[2\] ~= ARGV\[1\] or row\[3\] ~= ARGV\[2\] or /g, ""],
      [/ or row\[2\] ~= ARGV\[1\] or row\[3\] ~= ARGV\[2\]/g, ""],
    ],
  },
];

export function withoutFence(): { readonly root: string; remove(): void } {
  const copy = new Copy(["chaos"]);
  for (const { file, rules } of undoings) {
    const path = join(copy.path, placeOf(file));
    let text = readFileSync(path, "utf8");
    for (const [find, replace] of rules) {
      if (!find.test(text)) throw new Error(`${file}: nothing to edit out by ${String(find)}`);
      text = text.replaceAll(find, replace);
    }
    writeFileSync(path, text);
  }
  return { root: copy.path, remove: () => copy.remove() };
}
