/** Turns the models into verifiers with Spin and a C compiler, and runs them. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";
import { findProgram } from "../../scripts/services/binaries.ts";
import type { Run } from "./runs.ts";

const run = promisify(execFile);
const source = fileURLToPath(new URL(".", import.meta.url));
const models = readdirSync(source).filter((name) => name.endsWith(".pml"));
const runMs = 900_000;
const printedBytesMax = 64 * 1024 * 1024;
/** A path longer than this ends the search unfinished, which counts as a failure. */
const depthMax = 20_000;

export interface Verdict {
  /** Every state was looked at and none breaks a promise. */
  readonly holds: boolean;
  /** The promise that breaks, as the model words it. */
  readonly violation: string | undefined;
  readonly states: number;
  readonly seconds: number;
}

export interface Verifiers {
  check(asked: Run, mutant?: string): Promise<Verdict>;
  /** The steps of the counterexample that the last `check` of the same model found. */
  trail(asked: Run, mutant?: string): Promise<string>;
  close(): void;
}

/** The mutants that the models know, in the order of their numbers. */
export function mutantNames(): readonly string[] {
  const text = models.map((name) => readFileSync(join(source, name), "utf8")).join("\n");
  const names = [...text.matchAll(/\b(?:slip|rule)\(([A-Z_]{5,})\b/g)].map((match) => match[1] ?? "");
  return [...new Set(names)].sort();
}

/** One build of each model serves all runs and all mutants. */
export async function buildVerifiers(): Promise<Verifiers> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-model-"));
  const will = reapAfterDeath({ folder });
  const close = (): void => {
    rmSync(folder, { recursive: true, force: true });
    will.forget();
  };
  const names = mutantNames();
  const placeOf = (model: Run["model"]): string => join(folder, model);

  async function build(model: Run["model"]): Promise<void> {
    const cwd = placeOf(model);
    mkdirSync(cwd);
    for (const name of models) copyFileSync(join(source, name), join(cwd, name));
    const numbers = names.map((name, index) => `-D${name}=${index + 1}`);
    const { stdout } = await run(findProgram("spin") ?? "spin", ["-a", ...numbers, `${model}.pml`], { cwd });
    if (/Error|syntax/.test(stdout)) throw new Error(`spin does not take ${model}.pml:\n${stdout}`);
    await run(
      findProgram("gcc") ?? "gcc",
      ["-O1", "-w", "-DSAFETY", "-DNOFAIR", "-DMEMLIM=6000", "-o", "pan", "pan.c"],
      { cwd },
    );
  }

  async function pan({ model, settings }: Run, mutant: string | undefined, args: readonly string[]): Promise<string> {
    const broken = mutant === undefined ? 0 : names.indexOf(mutant) + 1;
    if (mutant !== undefined && broken === 0) throw new Error(`the models know no mutant ${mutant}`);
    const texts = Object.entries({ ...settings, broken }).map(([name, value]) => [name, String(value)]);
    const env = { PATH: process.env["PATH"], ...Object.fromEntries(texts) } as NodeJS.ProcessEnv;
    const cwd = placeOf(model);
    const { stdout } = await run(join(cwd, "pan"), args, { cwd, env, timeout: runMs, maxBuffer: printedBytesMax });
    return stdout;
  }

  try {
    await Promise.all([build("model"), build("transaction")]);
  } catch (error) {
    close();
    throw error;
  }
  return {
    async check(asked, mutant) {
      const printed = await pan(asked, mutant, ["-n", "-w22", `-m${depthMax}`]);
      const numberIn = (pattern: RegExp): number => Number(pattern.exec(printed)?.[1] ?? Number.NaN);
      const states = numberIn(/(\d[\d.e+]*) states, stored/);
      if (Number.isNaN(states)) throw new Error(`the verifier of ${asked.title} failed:\n${printed.slice(-2000)}`);
      const violation = /^pan:\d+: (.*) \(at depth/m.exec(printed)?.[1];
      const complete = !/search not completed|max search depth too small/i.test(printed);
      return {
        holds: complete && violation === undefined && numberIn(/errors: (\d+)/) === 0,
        violation,
        states,
        seconds: numberIn(/elapsed time ([\d.]+) seconds/),
      };
    },
    async trail(asked, mutant) {
      const printed = await pan(asked, mutant, ["-r"]);
      // The copies that `remember` makes, and the checks that passed, say nothing of what happened.
      return printed.replace(/^.*\[(was\.|reborn|assert|else|\(1\)).*\n/gm, "");
    },
    close,
  };
}
