/** Inbox, consumers and dead letters, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

export const inboxMutants: readonly Mutant[] = [
  {
    name: "the message's row is written after the handler",
    edits: [
      {
        file: "inbox/run-once.ts",
        find: "const taken = await take(parts, handle, key);",
        replace: "await handler(tx, { ...context, handle });\n    const taken = await take(parts, handle, key);",
      },
      {
        file: "inbox/run-once.ts",
        find: "      await handler(tx, { ...context, handle });\n      await requireWhole",
        replace: "      await requireWhole",
      },
    ],
  },
  one(
    "a message is remembered by its id alone",
    "inbox/run-once.ts",
    "handler: checkHandlerName(handler), id:",
    'handler: checkHandlerName("any"), id:',
  ),
  one(
    "a commit without an answer counts as done",
    "inbox/run-once.ts",
    'if (found?.outcome === "duplicate") return "processed";',
    'return "processed";',
  ),
  one(
    "a sweep forgets the rows of letters",
    "inbox/sqlite/statements.generated.ts",
    "\\n    AND NOT EXISTS (SELECT 1 FROM {prefix}inbox_dead d WHERE d.handler = i.handler AND d.id = i.id)",
    "",
  ),
  one(
    "a sweep forgets the starts of letters",
    "inbox/sqlite/statements.generated.ts",
    "\\n    AND NOT EXISTS (SELECT 1 FROM {prefix}inbox_dead d WHERE d.handler = s.handler AND d.id = s.id)",
    "",
  ),
  one(
    "an event older than the retention runs",
    "inbox/inbox.ts",
    "const isRefused = !evenIfOld && isTooOld(message);",
    "const isRefused = false;",
  ),
  one(
    "an event older than the retention runs under a lease",
    "inbox/inbox.ts",
    "const refusal = !evenIfOld && isTooOld(message) ? tooOld : undefined;",
    "const refusal = undefined;",
  ),
  one(
    "an event that is too old counts as processed",
    "inbox/attempts.ts",
    'if (outcome === "conflict") return bury(reason === "too-old" ? tooOld : conflict);',
    'if (outcome === "conflict") return reason === "too-old" ? "duplicate" : bury(conflict);',
  ),
  one(
    "a letter that failed in other hands counts as processed",
    "inbox/attempts.ts",
    'return isDead === true ? "dead" : "duplicate";',
    'return "duplicate";',
  ),
  one(
    "a replay that ended takes its start back before its letter is gone",
    "inbox/attempts.ts",
    'if (decided && handler.run !== undefined && (outcome === "processed" || outcome === "duplicate"))',
    'if (decided && handler.name === "" && (outcome === "processed" || outcome === "duplicate"))',
  ),
  one("a replay is refused for its age", "inbox/attempts.ts", "evenIfOld: decided }", "evenIfOld: false }"),
  one(
    "what may be forgotten is called crashed",
    "inbox/attempts.ts",
    "if (!decided && parts.isTooOld(message)) return bury(tooOld);",
    "",
  ),
  one(
    "a replay that was started and may be forgotten is started again",
    "inbox/attempts.ts",
    "const crashesMax = isForgotten ? 1 : settings.crashesMax;",
    "const crashesMax = settings.crashesMax;",
  ),
  one(
    "a replay under a lease that ended is in its record alone",
    "inbox/run-leased.ts",
    "await note().catch(() => undefined);",
    "",
  ),
  one(
    "a handler under a lease does not look for letters",
    "inbox/run-leased.ts",
    "if (found !== undefined) return resultOf(found);\n    if (refusal",
    "if (refusal",
  ),
  one(
    "a start that could not be taken back is left",
    "inbox/starts.ts",
    "      } catch {\n        owe(start);\n      }",
    "      } catch {}",
  ),
  one(
    "a start that may have been written is left",
    "inbox/starts.ts",
    "        owe(start);\n        throw error;",
    "        throw error;",
  ),
  one(
    "a copy that waits looks like one that died",
    "inbox/attempts.ts",
    "must not look like one that died.\n    await end();",
    "must not look like one that died.",
  ),
  one(
    "deaths are counted once, without waiting for those who end late",
    "inbox/attempts.ts",
    "if (crashes < crashesMax) return undefined;",
    "",
  ),
  one(
    "a message is put aside while somebody runs it",
    "inbox/inbox.ts",
    'if (handler.run === undefined || news.reason === "conflict") return put();',
    "if (put !== undefined) return put();",
  ),
  one(
    "a letter is put aside although its message was processed",
    "inbox/dead-letters.ts",
    'if (found?.outcome === "duplicate" && !found.dead) return "processed";',
    "",
  ),
  one(
    "a letter that is put aside is not marked",
    "inbox/dead-letters.ts",
    'if (news.reason !== "conflict" && !(await marked(handle, key))) {',
    'if (news.reason === "unreadable" && !(await marked(handle, key))) {',
  ),
  one("a discarded letter is not marked", "inbox/dead-letters.ts", "await marked(handle, { handler, id, print });", ""),
  one(
    "a letter that is to run again stays marked",
    "inbox/dead-letters.ts",
    'for (const row of rows) await statements(handle, "unmarkDead", { handler, id, print: bytesOf(row, "print") });',
    "",
  ),
  one(
    "a letter that was buried again is removed with the replay before it",
    "inbox/statements.generated.ts",
    "\\n  and not exists (select 1 from {prefix}inbox i where i.handler = :handler and i.id = :id and i.print = :print and i.dead = 1)",
    "",
  ),
  one(
    "a letter is removed before its replay has run",
    "inbox/consumer.ts",
    "const settled = await settleMessage(once, message, handler, { redelivered: true, decided: true });",
    "await parts.desk.remove(message, handler.name);\n        const settled = await settleMessage(once, message, handler, { redelivered: true, decided: true });",
  ),
  one(
    "a replay that was put aside again is removed",
    "inbox/consumer.ts",
    'if (settled === "processed" || settled === "duplicate") await',
    'if (settled !== "handed-back") await',
  ),
  one(
    "a message without an outcome is acknowledged",
    "inbox/consumer.ts",
    "(open ? delivery.retry(stopping.signal.aborted ? 0 : handBackMs) : delivery.ack())",
    "delivery.ack()",
  ),
  one(
    "one handler's outcome stands for all",
    "inbox/consumer.ts",
    'open ||= settled === "handed-back";',
    'open = settled === "handed-back";',
  ),
  one(
    "a handler that failed as often as it may is left out",
    "inbox/attempts.ts",
    'if (failed >= settings.attemptsMax) verdict = { reason: "failed", error };\n      return "failed";',
    'return failed >= settings.attemptsMax ? "duplicate" : "failed";',
  ),
];
