/** The runner's end of the desk: what it is asked to do, by lines and files. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnChild, type Child } from "../packages/ichido/src/testing/child.ts";
import type { Tally } from "./tally.ts";
import type { Told } from "./told.ts";

const answerMs = 120_000;

export class Desk {
  readonly #child: Child;
  readonly #folder = mkdtempSync(join(tmpdir(), "ichido-told-"));
  #asked = 0;

  private constructor(child: Child) {
    this.#child = child;
  }

  static async open(program: string, setup: object, tally: Tally): Promise<Desk> {
    const child = await spawnChild(program, {
      args: [JSON.stringify(setup)],
      readyPattern: /^ready$/,
      readyMs: answerMs,
      onLine: (line) => tally.read(line),
    });
    return new Desk(child);
  }

  get pid(): number {
    return this.#child.pid;
  }

  order(line: string): void {
    this.#child.write(line);
  }

  async #ask(verb: string, file: string): Promise<void> {
    this.#child.write(`${verb} ${file}`);
    await this.#child.waitFor(new RegExp(`^${verb} ${file} done$`), answerMs);
  }

  #file(): string {
    this.#asked += 1;
    return join(this.#folder, `${this.#asked}.json`);
  }

  /** What the store holds: rows and records, or events and what was done about them. */
  async tell<What = Told>(): Promise<What> {
    const file = this.#file();
    await this.#ask("tell", file);
    const told = JSON.parse(readFileSync(file, "utf8")) as What;
    rmSync(file);
    return told;
  }

  /** These rows go: they are judged. Records go by themselves, when their retention is over. */
  async forget({ rows }: Told): Promise<void> {
    const file = this.#file();
    writeFileSync(file, JSON.stringify(rows.map(({ effect }) => effect)));
    await this.#ask("forget", file);
    rmSync(file);
  }

  async stop(): Promise<void> {
    await this.#child.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
