/** The command as a user runs it: a process with arguments, two streams and an exit code; or in this process. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Io } from "../../packages/ichido/src/cli/command.ts";
import { main } from "../../packages/ichido/src/cli/main.ts";
import { checkLines } from "./line-schema.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface Place {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export const bin = fileURLToPath(new URL("../../packages/ichido/src/cli/bin.ts", import.meta.url));

/** What is set where the tests run must not choose a store for them. */
export function environmentOf(env: Place["env"]): Record<string, string | undefined> {
  const bare = Object.entries(process.env).filter(([name]) => !name.startsWith("ICHIDO_"));
  return { ...Object.fromEntries(bare), NODE_OPTIONS: "", ...env };
}

export function ichidoIn({ cwd, env }: Place, ...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    const options = {
      maxBuffer: 16_777_216,
      timeout: 60_000,
      env: environmentOf(env),
      ...(cwd === undefined ? {} : { cwd }),
    };
    execFile(process.execPath, ["--conditions=ichido-source", bin, ...args], options, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      if (args.includes("--json")) checkLines(out);
      resolve({ code, out, err });
    });
  });
}

export const ichido = (...args: readonly string[]): Promise<Ran> => ichidoIn({}, ...args);

export interface Setting extends Place {
  /** The width of the terminal; none: the output is read by a program. */
  readonly columns?: number;
  /** What the person answers, question by question. */
  readonly answers?: readonly string[];
  /** Happens while the person reads the first question. */
  readonly meanwhile?: () => Promise<void>;
  readonly signal?: AbortSignal;
}

/** The same without a process of its own, which costs a tenth of a second. */
export async function ichidoHere(setting: Setting, ...args: readonly string[]): Promise<Ran> {
  const { columns, answers, cwd = process.cwd(), env = {}, signal = new AbortController().signal } = setting;
  let [out, err] = ["", ""];
  const left = [...(answers ?? [])];
  const io: Io = {
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    env,
    cwd,
    signal,
    drawsProgress: columns !== undefined,
    ...(columns === undefined ? {} : { columns: () => columns }),
    ...(answers === undefined
      ? {}
      : {
          ask: async (question) => {
            err += question;
            if (left.length === answers.length) await setting.meanwhile?.();
            return left.shift() ?? "";
          },
        }),
  };
  const code = await main(args, io);
  if (args.includes("--json")) checkLines(out);
  return { code, out, err };
}

export function linesOf(out: string): readonly Readonly<Record<string, unknown>>[] {
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
