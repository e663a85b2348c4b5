/** promtool, on files of ours or of the moment. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { findProgram } from "../../scripts/services/binaries.ts";

export const opsFolder = fileURLToPath(new URL("../../ops/", import.meta.url));

export interface Told {
  readonly ok: boolean;
  readonly text: string;
}

export function promtool(...args: readonly string[]): Promise<Told> {
  return promtoolReading("", ...args);
}

/** The same with this text as its input. */
export function promtoolReading(input: string, ...args: readonly string[]): Promise<Told> {
  return new Promise((resolve) => {
    const options = { timeout: 60_000 };
    const child = execFile(findProgram("promtool") ?? "promtool", args, options, (error, stdout, stderr) => {
      resolve({ ok: error === null, text: `${stdout}${stderr}` });
    });
    child.stdin?.end(input);
  });
}

/** With files of these names and contents in a folder of their own. */
export async function withFiles<Value>(
  files: Readonly<Record<string, string>>,
  work: (folder: string) => Promise<Value>,
): Promise<Value> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-ops-"));
  try {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
