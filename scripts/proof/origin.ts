/** When a run began and what was run, for whoever reads its report later. */
import { execFileSync } from "node:child_process";

export interface Origin {
  readonly date: string;
  readonly commit: string;
  /** Of `packages/ichido/src` as git names its content: commits get other names when they are moved, this does not. */
  readonly source?: string;
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

export function originNow(): Origin {
  const date = new Date().toISOString();
  try {
    const isChanged = git("status", "--porcelain", "--untracked-files=no").trim() !== "";
    const commit = `${git("rev-parse", "HEAD").trim()}${isChanged ? ", with changes" : ""}`;
    return { date, commit, source: git("rev-parse", "HEAD:packages/ichido/src").trim() };
  } catch {
    // A copy of the files without their history.
    return { date, commit: "unknown" };
  }
}
