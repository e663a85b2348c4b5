import { expect, test } from "vitest";
import { linesMatching, trackedFiles } from "./tracked.ts";

/** What a simulation could not give: real clocks, timers and chance. */
const outside = new RegExp(
  [
    "\\bDate\\.now\\b",
    "\\bnew Date\\(\\)",
    "\\bperformance\\.now\\b",
    "\\bset(Timeout|Interval|Immediate)\\b",
    "\\bAbortSignal\\.timeout\\b",
    "\\bhrtime\\b",
    "\\bMath\\.random\\b",
    "\\bgetRandomValues\\(",
    "import \\{[^}]*\\brandom(Bytes|UUID|Int)\\b",
  ].join("|"),
);

const simulated = ["core", "outbox", "inbox", "client"];

/** Who may use them all the same, and why. Whoever stops needing to is taken off. */
const exceptions: Readonly<Record<string, string>> = {
  "core/contract/environment.ts": "it is what the others are given",
  "core/contract/uuid.ts": "browsers too: random bytes from the platform, no decision hangs on them",
  "client/clock.ts": "it is what the client is given",
  "client/delivery.ts":
    "the time-out of one request: a caller's clock may let pauses pass at once, which must not end a request",
  "client/key-source.ts": "defaults of a key that the caller did not choose",
  "client/lock-file.ts": "files of other processes: their times are the file system's",
  "client/node.ts": "the name of a file beside the one that is replaced",
  "outbox/wake-channel.ts": "connects again to a real PostgreSQL, whose driver has timers of its own",
};

const prefix = "packages/ichido/src/";

test("what is simulated takes clocks, timers and chance from its environment alone", () => {
  const inSource = trackedFiles()
    .filter((path) => path.startsWith(prefix) && path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .filter((path) => simulated.includes(path.slice(prefix.length).split("/")[0] ?? ""));
  const isExcepted = (path: string): boolean => path.slice(prefix.length) in exceptions;
  expect(
    linesMatching(
      inSource.filter((path) => !isExcepted(path)),
      outside,
    ),
  ).toEqual([]);
  const needless = inSource.filter((path) => isExcepted(path) && linesMatching([path], outside).length === 0);
  expect(needless).toEqual([]);
  const gone = Object.keys(exceptions).filter((path) => !inSource.includes(prefix + path));
  expect(gone).toEqual([]);
});
