/** Fields of a record that a transition must keep or set, and the trust in the clock, undone one by one. */
import { one, type Mutant } from "./mutant.ts";

const claim = "core/record-machine/claim.ts";
const owned = "core/record-machine/owned.ts";
const settle = "core/record-machine/settle.ts";
const view = "core/record-machine/view.ts";
const ticks = "core/record-machine/ticks.ts";
const rules = "core/record-machine/record.ts";

const taken: readonly Mutant[] = [
  one("a takeover is not counted", claim, "attempts: record.attempts + 1,", "attempts: record.attempts,"),
  one(
    "a takeover extends the retention",
    claim,
    "    attempts: record.attempts + 1,\n",
    "    attempts: record.attempts + 1,\n    expiresUs: nowUs + usOf(terms.retentionMs),\n",
  ),
  one(
    "a takeover by others forgets that the doubt stays",
    claim,
    "doubtStays: record.doubtStays || terms.doubtStays === true,",
    "doubtStays: terms.doubtStays === true,",
  ),
  one(
    "the same content in another spelling is refused",
    claim,
    "    isSameHash(stored.canonical, asked.canonical) ||\n",
    "",
  ),
  one(
    "what was released is kept for nobody",
    claim,
    'if (record.state !== "processing") return record.state;',
    'if (record.state !== "processing") return record.state === "failed" ? "processing" : record.state;',
  ),
  one(
    "a lease lasts twice as long as was asked for",
    claim,
    "leaseUs: leaseEndUs(terms.leaseMs, nowUs),",
    "leaseUs: leaseEndUs(2 * terms.leaseMs, nowUs),",
  ),
  one(
    "a takeover lasts half as long as was asked for",
    claim,
    "const leaseUs = leaseEndUs(terms.leaseMs, nowUs);",
    "const leaseUs = leaseEndUs(terms.leaseMs / 2, nowUs);",
  ),
  one(
    "who waits is not told how long the lease lasts",
    claim,
    "leaseLeftMs: Math.max(0, Math.ceil(leaseLeftMs)), attempts",
    "leaseLeftMs: 0 * leaseLeftMs, attempts",
  ),
  one(
    "who waits is told of a living owner as unknown",
    claim,
    'if (live) return "processing";',
    'if (live) return record.attempts > 1 ? "unknown" : "processing";',
  ),
  one(
    "a living owner is overtaken under open",
    claim,
    'if (live) return "processing";',
    'if (live && terms.takeover !== "open") return "processing";',
  ),
];

const changed: readonly Mutant[] = [
  one(
    "suspending makes no hold",
    owned,
    "holdReason: request.holdReason ?? held.holdReason",
    "holdReason: held.holdReason",
  ),
  one(
    "another's commit counts as one's own",
    owned,
    'if (isOurs && record.state === "completed") return "committed";',
    'if (record?.state === "completed") return "committed";',
  ),
  one(
    "a step does not count as started",
    owned,
    "      stepsStarted: steps.length,\n      leaseUs",
    "      stepsStarted: held.stepsStarted,\n      leaseUs",
  ),
  one(
    "a step that is called again forgets the first",
    owned,
    ": [...held.steps, change(begun)];",
    ": [change(begun)];",
  ),
  one(
    "an answer leaves the hold in the record",
    owned,
    '    state: "completed",\n    leaseUs: 0,\n    interim: undefined,\n    holdReason: undefined,',
    '    state: "completed",\n    leaseUs: 0,\n    interim: undefined,',
  ),
  one("a decision leaves no trace", settle, "audit: [...record.audit, entry]", "audit: (void entry, record.audit)"),
  one(
    "a policy's release forgets open steps",
    settle,
    'return decision.kind === "release" && unlessHeld !== true;',
    'void unlessHeld;\n  return decision.kind === "release";',
  ),
  one(
    "an adopted answer can be taken over",
    settle,
    'return decision.kind === "adopt" ? answered(fenced, decision.response, nowUs) : failed(fenced, nowUs);',
    "return failed(fenced, nowUs);",
  ),
];

const clocks: readonly Mutant[] = [
  one("a lease however far ahead counts", view, " && leaseUs <= leaseEndMaxUs(nowUs)", ""),
  one(
    "what is completed never expires",
    view,
    'if (record.state === "completed") return false;',
    'if (record.state === "completed") return true;',
  ),
  one(
    "the fence does not follow the one before",
    rules,
    "return Math.max(formerFence + 1, fenceFloor + 1, nowUs);",
    "void formerFence;\n  return Math.max(fenceFloor + 1, nowUs);",
  ),
  one("a tick that is late counts as even", ticks, " && nowUs - tick.lastUs <= tickGapIntervals * intervalUs;", ";"),
  one(
    "a tick before the last one counts as even",
    ticks,
    "tick !== undefined && nowUs >= tick.lastUs && nowUs",
    "tick !== undefined && nowUs",
  ),
  one("one tick is enough", ticks, " && nowUs - tick.steadySinceUs >= gapUs;", ";"),
  one("a clock without ticks is trusted", ticks, " && nowUs - tick.lastUs <= gapUs && ", " && "),
];

export const recordFields: readonly Mutant[] = [...taken, ...changed, ...clocks];
