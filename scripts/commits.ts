/**
 * `npm run commits -- [RANGE]`: the messages of the commits in a range (by default those that the upstream branch has not,
 * or the last thirty) against the rules of CONTRIBUTING.md. Not a test: history cannot be mended by whoever runs the tests.
 */
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const subjectMax = 72;
/** What is shipped; whoever changes it says why. */
const behaviour = /^(?:packages\/[^/]+|apps\/[^/]+)\/src\/(?!.*\.test\.ts$)/;
/** No imperative ends so, but for these. */
const otherMood = /(?:ed|ing|[^s]s)$/;
const imperatives = /^(?:embed|exceed|feed|need|proceed|seed|shed|speed|bring|string|ping|swing|focus|bias|canvas)$/;

function git(...args: readonly string[]): string {
  return execFileSync("git", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

function rangeOf(asked: string | undefined): string[] {
  if (asked !== undefined) return [asked];
  try {
    return [`${git("rev-parse", "--abbrev-ref", "@{upstream}")}..HEAD`];
  } catch {
    return ["--max-count=30", "HEAD"];
  }
}

export function faultsOf(message: string, paths: readonly string[]): string[] {
  const [subject = "", ...rest] = message.split("\n");
  const faults: string[] = [];
  const [, said] = /^[a-z]+(?:\([\w/, -]+\))?!?: (.+)$/.exec(subject) ?? [];
  if (subject.length > subjectMax) faults.push(`subject of ${subject.length} characters, at most ${subjectMax}`);
  if (said === undefined) faults.push("subject is not `type(room): what`");
  const verb = said?.split(/[ ,]/)[0]?.toLowerCase() ?? "";
  if (otherMood.test(verb) && !imperatives.test(verb)) faults.push(`"${verb}" is no imperative`);
  if (subject.includes(";")) faults.push("two ideas in a subject: make two commits");
  if (subject.endsWith(".")) faults.push("subject ends with a full stop");
  if (rest.length > 0 && rest[0] !== "") faults.push("no empty line after the subject");
  if (rest.join("").trim() === "" && paths.some((path) => behaviour.test(path))) {
    faults.push("changes what is shipped without a body that says why");
  }
  return faults;
}

function main(): void {
  const hashes = git("rev-list", "--no-merges", ...rangeOf(process.argv[2]))
    .split("\n")
    .filter(Boolean);
  let faulty = 0;
  for (const hash of hashes) {
    const message = git("show", "--no-patch", "--format=%B", hash);
    const faults = faultsOf(
      message,
      git("diff-tree", "--root", "--no-commit-id", "--name-only", "-r", hash).split("\n"),
    );
    if (faults.length === 0) continue;
    faulty += 1;
    console.log(`${hash.slice(0, 10)} ${message.split("\n")[0]}`);
    for (const fault of faults) console.log(`  ${fault}`);
  }
  console.log(`${hashes.length} commits, ${faulty} with faults`);
  process.exitCode = faulty === 0 ? 0 : 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
