/** The client, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

export const client: readonly Mutant[] = [
  one(
    "what is done is forgotten",
    "client/attempt.ts",
    'const isKept = outcome === "done" && rememberMs > 0;',
    "const isKept = false as boolean;",
  ),
  one(
    "a key for every try",
    "client/client.ts",
    "headers.set(...parts.headerOf(sending.attempt));",
    "const key = `${sending.attempt.key.slice(0, 24)}${Math.floor(Math.random() * 1e12)}`.slice(0, 36);\n    headers.set(...parts.headerOf({ key }));",
  ),
  one(
    "an unknown outcome ends the attempt",
    "client/delivery.ts",
    'if (meaning === "open") return unknown("server");',
    'if (meaning === "open") {\n        await attempts.settle(attempt);\n        return unknown("server");\n      }',
  ),
  {
    name: "a stranger's refusal drops the key",
    edits: [
      {
        file: "client/delivery.ts",
        find: "        !isFinal(meaning) ||\n",
        replace: "        !isFinal(meaning) ||\n        (answer.status >= 400 && answer.status < 500) ||\n",
      },
      { file: "client/delivery.ts", find: "isReplay(answer.headers) ? undefined : sends", replace: "undefined" },
    ],
  },
  one("a key is not kept", "client/attempt.ts", "if (now !== kept) await write(name, now);", ""),
  one(
    "what was done and cannot be shown was declined",
    "client/retry-policy.ts",
    '(problem?.originalStatus ?? 200) < 400 ? "done" : "declined"',
    '(problem?.originalStatus ?? 200) < 0 ? "done" : "declined"',
  ),
  one(
    "a login page is an answer",
    "client/delivery.ts",
    "        !isFinal(meaning) ||\n",
    "        !isFinal(meaning) ||\n        answer.status < 300 ||\n",
  ),
  one(
    "a changed payload keeps the key",
    "client/attempt.ts",
    "const now = [last, open].find((each) => each?.hash === hash) ?? {",
    "const now = [last, open].find((each) => each !== undefined) ?? {",
  ),
  one(
    "something else is begun although the outcome is open",
    "client/attempt.ts",
    "if (open?.sentAtMs !== undefined && open.hash !== hash) throw changed(name, otherContent);",
    "",
  ),
  one(
    "what is declined keeps its key",
    "client/attempt.ts",
    "else await storage.removeItem(placeOf(name));",
    "else void 0;",
  ),
];
