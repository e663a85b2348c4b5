/** When a run began and what was run, for whoever reads its report later. */
import { execFileSync } from "node:child_process";

export interface Origin {
  readonly date: string;
  readonly commit: string;
}

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: import.meta.dirname, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}

export function originNow(): Origin {
  const date = new Date().toISOString();
  try {
    const isChanged = git("status", "--porcelain", "--untracked-files=no").trim() !== "";
    return { date, commit: `${git("rev-parse", "HEAD").trim()}${isChanged ? ", with changes" : ""}` };
  } catch {
    // A copy of the files without their history.
    return { date, commit: "unknown" };
  }
}
