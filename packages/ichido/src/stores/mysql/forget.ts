/**
 * Erases what a record holds. Like a settlement, a proposal that no reader sees and one statement that makes it true; what
 * lies in other tables goes after that, and again whenever the same is asked for, should a process die between. Labels stay on
 * the record until then: they alone say which rows of their index are its own.
 */
import type { ForgetRequest, ForgetResult } from "../../core/contract/history.ts";
import { IchidoError } from "../../core/contract/errors.ts";
import { nobody } from "../../core/record-machine/bounds.ts";
import { forgetAction, forgetRefusal, forgottenLine, forgottenStatus } from "../../core/record-machine/forget.ts";
import { encodeHeaders } from "../encoding.ts";
import { integerOf } from "./client.ts";
import { decidedUntilUs } from "./deciding.ts";
import type { Dialect } from "./dialect.ts";
import { forgetLabels, type Labels } from "./labels.ts";
import { seenOf } from "./row.ts";
import { countdown, type Run } from "./session.ts";
import { identityValues, longText, ownerValue, text } from "./values.ts";

const roundsMax = 8;

interface Seen {
  readonly refusal: Exclude<ForgetResult, "ok"> | undefined;
  readonly labels: Labels;
  readonly fence: number;
  readonly untilUs: number;
}

async function look(run: Run, dialect: Dialect, request: ForgetRequest, left: () => number): Promise<Seen> {
  const { key, scopeHash } = identityValues(request.identity);
  const [row] = (await run(dialect.look(1), [key, scopeHash])).rows;
  if (row === undefined) return { refusal: "absent", labels: {}, fence: 0, untilUs: 0 };
  const seen = seenOf(row);
  const untilUs = decidedUntilUs(seen.nowUs, left());
  return { refusal: forgetRefusal(seen, request, seen.nowUs), labels: seen.labels, fence: seen.fence, untilUs };
}

export async function forget(
  run: Run,
  dialect: Dialect,
  request: ForgetRequest,
  timeoutMs: number,
): Promise<ForgetResult> {
  const left = countdown(timeoutMs);
  const where = identityValues(request.identity);
  const { refusal, labels, fence, ...seen } = await look(run, dialect, request, left);
  if (refusal === "forgotten") await erase(run, dialect, { ...request, fence }, labels);
  if (refusal !== undefined) return refusal;
  const values = {
    ...where,
    fence: integerOf(request.fence),
    actor: text("actor", request.actor),
    action: text("action", forgetAction),
    reason: longText("reason", request.reason),
    owner: ownerValue(nobody),
    headers: text("headers", encodeHeaders([forgottenLine])),
    status: forgottenStatus,
  };
  const { insertId: id } = await dialect.send(run, "proposeAudit", values);
  let { untilUs } = seen;
  for (let round = 0; round < roundsMax; round += 1) {
    const isDone =
      (await dialect.decide(run, "forget", { ...values, id }, untilUs)).insertId > 0 ||
      (await dialect.send(run, "settled", { id })).rows.length > 0;
    if (isDone) {
      await erase(run, dialect, request, labels);
      return "ok";
    }
    const again = await look(run, dialect, request, left);
    ({ untilUs } = again);
    if (again.refusal === undefined) continue;
    await dialect.send(run, "forgetAudit", { id });
    return again.refusal;
  }
  throw new IchidoError(
    "store-unavailable",
    `the record changed ${roundsMax} times while it was being forgotten; try again`,
  );
}

/** Of the record under the fence of the request: it may have expired since, and run as new. */
async function erase(run: Run, dialect: Dialect, { identity, fence }: ForgetRequest, labels: Labels): Promise<void> {
  const until = { ...identityValues(identity), fence: integerOf(fence) };
  await forgetLabels(run, dialect, { identity, labels, fence: until.fence });
  for (const each of ["forgetSteps", "forgetResources", "forgetAttempts", "forgetTwins"] as const) {
    await dialect.send(run, each, until);
  }
  await dialect.send(run, "forgetReasons", { ...until, action: text("action", forgetAction) });
  if (Object.keys(labels).length > 0) await dialect.send(run, "forgotten", until);
}
