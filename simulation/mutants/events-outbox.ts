/** Outbox and relay, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

export const outboxMutants: readonly Mutant[] = [
  one("a turn does not compare its session", "outbox/turn.ts", "if (affected === 0) throw lost();", ""),
  one(
    "a renewal does not compare its session",
    "outbox/session.ts",
    'if ((await run(handle, "hold", values)).affected === 0)',
    'if ((await run(handle, "hold", values)).affected < 0)',
  ),
  one(
    "a relay takes lanes of the living",
    "outbox/statements.generated.ts",
    "where l.session is null or not exists (select 1 from {prefix}outbox_relays r where r.session = l.session)\\norder",
    "order",
  ),
  one(
    "a refused event counts as in hand while what stands behind it is read",
    "outbox/turn.ts",
    'kind === "sent" ? [event.seq] : []',
    "[event.seq]",
  ),
  one(
    "what stands behind a refused event goes on",
    "outbox/sender.ts",
    "what stands behind it must not pass.\n    end(event);",
    "what stands behind it must not pass.\n    flights.arrive(event);",
  ),
  one(
    "what stands behind an event for later goes on",
    "outbox/sender.ts",
    "end(event, sentIn === generation ? postponed : undefined);",
    "if (sentIn === generation) outcomes.add(postponed);\n      flights.arrive(event);",
  ),
  one(
    "events of one key leave together",
    "outbox/flights.ts",
    "} else chain.push(event);",
    "} else {\n          chain.push(event);\n          heads.add(event);\n        }",
  ),
  one(
    "a reading brings what stands behind a chain that was dropped meanwhile",
    "outbox/flights.ts",
    "if (held.has(event.seq) || droppedSince.has(chainOf(event))) continue;",
    "if (held.has(event.seq)) continue;",
  ),
  one(
    "what stands behind an event that was tried in vain is held without it",
    "outbox/sender.ts",
    "const rest = events.filter((event) => !chains.has(chainOf(event)));",
    "const rest = events.filter((event) => chains.size > 0 && !stuck.includes(event));",
  ),
  one(
    "a reading behind what was tried in vain reads its keys",
    "outbox/statements.generated.ts",
    "or coalesce(({earlier-of-key}), :floor + 1) > :floor)",
    "or 1 = 1)",
  ),
  one(
    "a parked key is read",
    "outbox/statements.generated.ts",
    "where p.key_hash = o.key_hash and (p.until_ms is null or p.until_ms > {now})\\n  )\\n  and (o.key_hash is null or o.key_hash in",
    "where p.key_hash = o.key_hash and 1 = 0\\n  )\\n  and (o.key_hash is null or o.key_hash in",
  ),
  one(
    "a dead event does not park its key",
    "outbox/turn.ts",
    "if (verdict.parks) await park(",
    "if (false) await park(",
  ),
  one(
    "an event that is gone parks its key",
    "outbox/turn.ts",
    "if (affected === 0) return;\n  if (event.keyHash",
    "if (event.keyHash",
  ),
  one(
    "an event that has no answer counts as sent",
    "outbox/sender.ts",
    'if (published.outcome === "unavailable") {',
    'if (published.outcome === "unavailable") {\n      outcomes.add({ kind: "sent", event });',
  ),
  one(
    "a letter of the relay is replayed twice",
    "outbox/dead-letters.ts",
    'if ((await run(handle, "removeDead", { seq })).affected === 0) throw new Decided();',
    "",
  ),
  one(
    "a letter of the relay that is replayed is not put back",
    "outbox/dead-letters.ts",
    'if (action === "replay") await run(handle, "revive", { seq });',
    "",
  ),
  one(
    "a key stays parked when its letter is decided",
    "outbox/dead-letters.ts",
    'if (keyHash !== undefined) await run(handle, "unpark", { key_hash: keyHash, seq });',
    "",
  ),
  one(
    "a relay gives lanes away whose events are in its hands",
    "outbox/session.ts",
    "own.filter((lane) => !busyLanes.has(lane))",
    "own",
  ),
  one(
    "an event is acknowledged when it is read",
    "outbox/turn.ts",
    "  return found;\n}",
    '  if (found.length > 0) await run(handle, "ack", { seqs: found.map(({ seq }) => seq) });\n  return found;\n}',
  ),
];
