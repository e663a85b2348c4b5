/**
 * A person's decision: a proposal that no reader sees, then one statement that changes record and audit row together.
 */
import type { AuditEntry } from "../../core/contract/history.ts";
import type { SettleRequest, SettleResult } from "../../core/contract/store.ts";
import type { Identity } from "../../core/contract/record.ts";
import { nobody } from "../../core/record-machine/bounds.ts";
import { toMs } from "../../core/record-machine/record.ts";
import { settleRefusal } from "../../core/record-machine/settle.ts";
import { IchidoError } from "../../core/contract/errors.ts";
import { integerOf } from "./client.ts";
import { decidedUntilUs } from "./deciding.ts";
import type { Dialect } from "./dialect.ts";
import { addLabels, type Labels } from "./labels.ts";
import { seenOf, stringOf } from "./row.ts";
import { countdown, type Run } from "./session.ts";
import { identityValues, longText, ownerValue, responseValues, text } from "./values.ts";

const roundsMax = 8;

const statementOf = { adopt: "settleAdopt", release: "settleRelease", hold: "settleHold" } as const;

export async function settle(
  run: Run,
  dialect: Dialect,
  request: SettleRequest,
  timeoutMs: number,
): Promise<SettleResult> {
  const left = countdown(timeoutMs);
  const { decision } = request;
  const values = {
    ...identityValues(request.identity),
    fence: integerOf(request.fence),
    actor: text("actor", request.actor),
    action: text("action", decision.kind),
    reason: longText("reason", request.reason),
    owner: ownerValue(nobody),
    unlessHeld: request.unlessHeld === true ? 1 : 0,
    ...responseValues(decision.kind === "adopt" ? decision.response : undefined),
  };
  // A refusal that can be seen beforehand leaves no trace at all, not even a proposal.
  const early = await look(run, dialect, request, left);
  if (early.refusal !== undefined) return early.refusal;
  // Whoever claimed it may have died before it wrote them: completed records are found by these rows alone.
  if (decision.kind === "adopt") await addLabels(run, dialect, [{ ...request, labels: early.labels }]);
  const { insertId: id } = await dialect.send(run, "proposeAudit", values);
  let { untilUs } = early;
  for (let round = 0; round < roundsMax; round += 1) {
    const settled = await dialect.decide(run, statementOf[decision.kind], { ...values, id }, untilUs);
    if (settled.insertId > 0) {
      if (decision.kind === "release") await forgetSteps(run, dialect, request, settled.insertId);
      return "ok";
    }
    if (await isSettled(run, dialect, id)) return "ok";
    const again = await look(run, dialect, request, left);
    ({ untilUs } = again);
    if (again.refusal === undefined) continue;
    await dialect.send(run, "forgetAudit", { id });
    return again.refusal;
  }
  throw new IchidoError(
    "store-unavailable",
    `the record changed ${roundsMax} times while it was being settled; try again`,
  );
}

/** The decision stands, whatever becomes of this. */
async function forgetSteps(run: Run, dialect: Dialect, { identity }: SettleRequest, fence: number): Promise<void> {
  await dialect.send(run, "settleSteps", { ...identityValues(identity), fence }).catch(() => undefined);
}

/** It took effect, and its reply was lost. */
async function isSettled(run: Run, dialect: Dialect, id: number): Promise<boolean> {
  return (await dialect.send(run, "settled", { id })).rows.length > 0;
}

interface Looked {
  readonly refusal: SettleResult | undefined;
  readonly labels: Labels;
  readonly untilUs: number;
}

async function look(run: Run, dialect: Dialect, request: SettleRequest, left: () => number): Promise<Looked> {
  const { key, scopeHash } = identityValues(request.identity);
  const [row] = (await run(dialect.look(1), [key, scopeHash])).rows;
  if (row === undefined) return { refusal: settleRefusal(undefined, request, 0), labels: {}, untilUs: 0 };
  const seen = seenOf(row);
  const untilUs = decidedUntilUs(seen.nowUs, left());
  return { refusal: settleRefusal(seen, request, seen.nowUs), labels: seen.labels, untilUs };
}

export async function audit(run: Run, dialect: Dialect, identity: Identity): Promise<readonly AuditEntry[]> {
  const { rows } = await dialect.send(run, "audit", identityValues(identity));
  return rows.map((row) => ({
    atMs: toMs(integerOf(row["at_us"])),
    actor: stringOf(row["actor"]),
    action: stringOf(row["action"]),
    reason: stringOf(row["reason"]),
    fence: integerOf(row["fence"]),
  }));
}
