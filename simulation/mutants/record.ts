/** The rules of a record, undone one by one. */
import { one, type Mutant } from "./mutant.ts";

const claim = "core/record-machine/claim.ts";
const owned = "core/record-machine/owned.ts";
const rules = "core/record-machine/record.ts";
const settle = "core/record-machine/settle.ts";
const view = "core/record-machine/view.ts";

/** Lets anybody pass for the owner of the record. */
function unfenced(name: string, find: string, replace: string): Mutant {
  const helper =
    "function asOwner<Request extends Proof>(record: Holding | undefined, request: Request): Request {\n" +
    "  return record === undefined ? request : { ...request, owner: record.owner, fence: record.fence };\n}\n\n";
  const edits = [
    { file: owned, find: "function isOf(", replace: `${helper}function isOf(` },
    { file: owned, find, replace },
  ];
  return { name, edits };
}

const claims: readonly Mutant[] = [
  one("any owner gets the record back as its own", claim, "if (record.owner === terms.owner && (live", "if ((live"),
  one(
    "an owner gets back what it left in doubt by a copy of its claim",
    claim,
    "record.owner === terms.owner && (live || !isSealed(record))",
    "record.owner === terms.owner",
  ),
  one(
    "a takeover keeps the fence",
    claim,
    "fence: nextFence(record.fence, moment),\n    attempts: record.attempts + 1",
    "fence: record.fence,\n    attempts: record.attempts + 1",
  ),
  one(
    "the fence follows the clock alone",
    rules,
    "return Math.max(formerFence + 1, fenceFloor + 1, nowUs);",
    "void formerFence;\n  void fenceFloor;\n  return nowUs;",
  ),
  one(
    "a completed record can be taken",
    claim,
    'if (record.state !== "processing") return record.state;',
    'if (record.state !== "processing") return "failed";',
  ),
  one("another content is not refused", claim, 'if (!isSameRequest(record.fingerprint, asked)) return "mismatch";', ""),
  one(
    "retention does not go before the fingerprint",
    claim,
    'if (record === undefined || (trusted && isExpired(record, nowUs))) return "new";',
    'if (record === undefined) return "new";\n' +
      '  if (trusted && isExpired(record, nowUs)) return isSameRequest(record.fingerprint, asked) ? "new" : "mismatch";',
  ),
  one(
    "a record expires by a clock that is not trusted",
    claim,
    "(trusted && isExpired(record, nowUs))",
    "isExpired(record, nowUs)",
  ),
  one(
    "a doubt is not noted at first sight",
    claim,
    "doubtStays: terms.doubtStays === true,\n    leaseUs",
    "doubtStays: false,\n    leaseUs",
  ),
  one(
    "a claim sent again forgets how the record was come by",
    claim,
    "origin: record.origin,",
    'origin: verdict === "resend" ? "new" : record.origin,',
  ),
  one(
    "a claim takes what has an interim answer",
    claim,
    'terms.takeover === "open" ? "suspended" : "unknown"',
    'terms.takeover === "none" ? "unknown" : "suspended"',
  ),
  one("a claim takes what is on hold", claim, 'if (record.holdReason !== undefined) return "unknown";', ""),
  one(
    "a claim takes what lapsed although it may not",
    claim,
    'return terms.takeover === "none" ? "unknown" : "lapsed";',
    'return "lapsed";',
  ),
  one(
    "a takeover forgets the interim answer",
    claim,
    "    origin: verdict,\n    fence",
    "    origin: verdict,\n    interim: undefined,\n    fence",
  ),
  one("a takeover counts as handed back", claim, "    origin: verdict,\n    fence", '    origin: "failed",\n    fence'),
];

const owners: readonly Mutant[] = [
  one(
    "fence not compared",
    owned,
    "record?.owner === proof.owner && record.fence === proof.fence",
    "record?.owner === proof.owner",
  ),
  one(
    "a release keeps the interim answer",
    owned,
    'state: "failed", leaseUs: 0, interim: undefined, holdReason',
    'state: "failed", leaseUs: 0, holdReason',
  ),
  one(
    "owner not compared",
    owned,
    "record?.owner === proof.owner && record.fence === proof.fence",
    "record?.fence === proof.fence",
  ),
  one(
    "neither owner nor fence compared",
    owned,
    "record?.owner === proof.owner && record.fence === proof.fence",
    "record !== undefined && proof !== undefined",
  ),
  unfenced(
    "unfenced completion",
    "owned(record, request, stateAfter.complete,",
    "owned(record, asOwner(record, request), stateAfter.complete,",
  ),
  unfenced(
    "unfenced release",
    "owned(record, proof, stateAfter.release,",
    "owned(record, asOwner(record, proof), stateAfter.release,",
  ),
  unfenced(
    "unfenced suspension",
    "owned(record, request, undefined, (held) => ({\n    ...held,\n    leaseUs: 0,",
    "owned(record, asOwner(record, request), undefined, (held) => ({\n    ...held,\n    leaseUs: 0,",
  ),
  unfenced(
    "renewal after loss",
    "owned(record, request, undefined, (held) => ({ ...held, leaseUs: leased(",
    "owned(record, asOwner(record, request), undefined, (held) => ({ ...held, leaseUs: leased(",
  ),
  unfenced(
    "unfenced step start",
    "withStep(record, request, nowUs, (step) => ({ ...step, lastStartedUs: nowUs }))",
    "withStep(record, asOwner(record, request), nowUs, (step) => ({ ...step, lastStartedUs: nowUs }))",
  ),
  unfenced(
    "unfenced step result",
    "withStep(record, request, nowUs, (step) => ({ ...step, finishedUs",
    "withStep(record, asOwner(record, request), nowUs, (step) => ({ ...step, finishedUs",
  ),
  one(
    "a released record keeps its owner's claim",
    owned,
    'if (record.state === "processing") return { record: change(record)',
    'if (record.state !== "completed") return { record: change(record)',
  ),
  one(
    "an ended lease comes back",
    owned,
    "return record.leaseUs === 0 ? 0 : leaseEndUs(leaseMs, nowUs);",
    "void record;\n  return leaseEndUs(leaseMs, nowUs);",
  ),
  one(
    "suspending forgets the hold",
    owned,
    "holdReason: request.holdReason ?? held.holdReason",
    "holdReason: request.holdReason",
  ),
  one(
    "suspending forgets the interim answer",
    owned,
    "interim: request.interim ?? held.interim",
    "interim: request.interim",
  ),
  one("suspending keeps no interim answer", owned, "interim: request.interim ?? held.interim", "interim: held.interim"),
  one("suspending keeps the lease", owned, "    ...held,\n    leaseUs: 0,\n    interim", "    ...held,\n    interim"),
  one("a step keeps its first start alone", owned, "({ ...step, lastStartedUs: nowUs })", "step"),
  one(
    "an owner's release ends a person's hold",
    owned,
    "held.holdReason === undefined ? failed(held, nowUs) : { ...held, leaseUs: 0, updatedUs: nowUs }",
    "failed(held, nowUs)",
  ),
  one(
    "a finished step is finished again",
    owned,
    "step.name === name && step.finishedUs === undefined ? change(step) : step",
    "step.name === name ? change(step) : step",
  ),
];

const results: readonly Mutant[] = [
  one(
    "a step is as old as its first start",
    view,
    "ageMs: toMs(nowUs - lastStartedUs)",
    "ageMs: toMs(nowUs - startedUs)",
  ),
  one(
    "results of steps go with the first retention",
    "core/record-machine/bounds.ts",
    "export const spentRetentions = 7;",
    "export const spentRetentions = 0;",
  ),
];

const people: readonly Mutant[] = [
  one("settled on another fence", settle, 'if (record.fence !== request.fence) return "stale";', ""),
  one(
    "settled under a living owner",
    settle,
    'return isLive(record, nowUs) ? "live" : undefined;',
    "void nowUs;\n  return undefined;",
  ),
  one(
    "an answer is settled again",
    settle,
    'if (record.state === "completed") return "completed";\n  if (record.fence',
    "if (record.fence",
  ),
  one(
    "a hold forgets the interim answer",
    settle,
    "leaseUs: 0, holdReason: reason, updatedUs",
    "leaseUs: 0, interim: undefined, holdReason: reason, updatedUs",
  ),
  one("a hold by a person is no hold", settle, "leaseUs: 0, holdReason: reason, updatedUs", "leaseUs: 0, updatedUs"),
  one(
    "a person's release leaves open steps",
    settle,
    "record.steps.filter((step) => step.finishedUs !== undefined)",
    "record.steps",
  ),
  one(
    "a policy settles what a person holds",
    settle,
    'if (request.unlessHeld === true && record.holdReason !== undefined) return "stale";',
    "",
  ),
  one(
    "a late owner still owns what a person has decided",
    settle,
    "{ ...record, owner: nobody as OwnerToken, fence: nextFence(record.fence, moment) }",
    "record",
  ),
];

const times: readonly Mutant[] = [
  one(
    "a lease is over too early",
    view,
    "leaseUs > nowUs && leaseUs <= leaseEndMaxUs(nowUs)",
    "leaseUs > nowUs + 200_000 && leaseUs <= leaseEndMaxUs(nowUs)",
  ),
  one(
    "a lease at the longest has no tolerance",
    "core/record-machine/bounds.ts",
    "2 * limits.leaseMsMax * 1_000",
    "limits.leaseMsMax * 1_000",
  ),
  one(
    "a record expires under a living owner",
    view,
    " && !isNeeded(record) && !isLive(record, nowUs);",
    " && !isNeeded(record);",
  ),
  one(
    "a record is swept under a living owner",
    view,
    'record.state === "processing" ? Math.max(record.expiresUs, record.leaseUs) : record.expiresUs',
    "record.expiresUs",
  ),
  one(
    "a record expires too early",
    view,
    "return nowUs >= record.expiresUs && !isNeeded",
    "return nowUs >= record.expiresUs - 500_000 && !isNeeded",
  ),
  one("an open step lets a record expire", view, "return record.stepsStarted > 0 || (record", "return (record"),
  one("a sealed record expires", view, "(record.doubtStays || isSealed(record))", "record.doubtStays"),
  one("a doubt ends by retention", view, "(record.doubtStays || isSealed(record))", "isSealed(record)"),
];

export const record: readonly Mutant[] = [...claims, ...owners, ...results, ...people, ...times];
