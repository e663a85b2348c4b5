/** A mutant is the source with one rule undone: text edits on a copy, never a switch in the source itself. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Edit {
  /** Below `packages/ichido/src`. */
  readonly file: string;
  /** Must stand there exactly once. */
  readonly find: string;
  readonly replace: string;
}

/** The parts of the simulation that a mutant can be hunted by. */
export type Part = "engine" | "events" | "transactions";

export interface Mutant {
  readonly name: string;
  /** Whose histories must show it. Absent: those of the engine. */
  readonly part?: Part;
  readonly edits: readonly Edit[];
}

export function one(name: string, file: string, find: string, replace: string): Mutant {
  return { name, edits: [{ file, find, replace }] };
}

export const partOf = ({ part = "engine" }: Mutant): Part => part;

/** The same mutants, hunted by the histories of a part. */
export const shownBy = (part: Part, mutants: readonly Mutant[]): readonly Mutant[] =>
  mutants.map((mutant) => ({ ...mutant, part }));

/** Where a file of an edit stands below a root. */
export const placeOf = (file: string): string => join("packages/ichido/src", file);

export const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

export class Copy {
  readonly path: string;

  /** `more`: what else is copied beside the source and the simulation. */
  constructor(more: readonly string[] = []) {
    this.path = mkdtempSync(join(tmpdir(), "ichido-mutants-"));
    symlinkSync(join(root, "node_modules"), join(this.path, "node_modules"));
    for (const each of [
      "package.json",
      "scripts",
      "simulation",
      "packages/ichido/package.json",
      "packages/ichido/src",
      ...more,
    ]) {
      cpSync(join(root, each), join(this.path, each), { recursive: true });
    }
  }

  /** Gives back what undoes it. */
  edit(edits: readonly Edit[]): () => void {
    const before = new Map<string, string>();
    for (const { file, find, replace } of edits) {
      const path = join(this.path, placeOf(file));
      const text = readFileSync(path, "utf8");
      if (!before.has(path)) before.set(path, text);
      const parts = text.split(find);
      if (parts.length !== 2) {
        for (const [changed, original] of before) writeFileSync(changed, original);
        throw new Error(`${file}: expected once, found ${parts.length - 1} times: ${find}`);
      }
      writeFileSync(path, parts.join(replace));
    }
    return () => {
      for (const [path, text] of before) writeFileSync(path, text);
    };
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
