/** What was filled and measured, in a file of the folder, so that a run goes on where the last one ended. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Filled } from "./fill.ts";
import type { Measured } from "./measured.ts";

interface Kept {
  readonly filled: Record<string, Filled>;
  readonly measured: Record<string, Measured>;
}

const fileName = "growth.json";

export class State {
  readonly folder: string;
  readonly #kept: Kept;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    const path = join(folder, fileName);
    this.#kept = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Kept) : { filled: {}, measured: {} };
    // Also marks the folder as ours, before anything is put there.
    this.#write();
  }

  filled = (name: string): Filled | undefined => this.#kept.filled[name];
  measured = (name: string): Measured | undefined => this.#kept.measured[name];

  noteFilled(name: string, filled: Filled): void {
    this.#kept.filled[name] = filled;
    this.#write();
  }

  noteMeasured(name: string, measured: Measured): void {
    this.#kept.measured[name] = measured;
    this.#write();
  }

  /** A level that a run uses up must be filled again before it is measured again. */
  forgetFilled(name: string): void {
    delete this.#kept.filled[name];
    this.#write();
  }

  #write(): void {
    const path = join(this.folder, fileName);
    writeFileSync(`${path}.new`, `${JSON.stringify(this.#kept, null, 2)}\n`);
    renameSync(`${path}.new`, path);
  }
}

/** False when the folder is none that a run has made. */
export function clean(folder: string): boolean {
  if (!existsSync(join(folder, fileName))) return false;
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  return true;
}
