/** What a customer's records hold is erased at a person's request, record by record; the fact that each was done stays. */
import { systemEnvironment } from "../contract/environment.ts";
import type { ForgetResult } from "../contract/history.ts";
import { booleanOption, knownOptions, optionInvalid } from "../contract/option-checks.ts";
import type { Identity } from "../contract/record.ts";
import type { StoredRecord } from "../contract/store.ts";
import { forgetRefusalSeen } from "../record-machine/forget.ts";
import { checkAuditText } from "./settlement.ts";
import { callsOf, type HeldCalls, type StoreHolder } from "./store-holder.ts";

export interface Forgetting {
  /** One record, as `store.list` or `store.find` gave it. Its fence is what was looked at. */
  readonly record?: Pick<StoredRecord, "identity" | "fence" | "state" | "response">;
  /** Or all records with this label. */
  readonly label?: { readonly name: string; readonly value: string };
  /** Who had it done. Kept in the audit. */
  readonly actor: string;
  /** Kept in the audit: name the request (a ticket), never the person who is to be forgotten. */
  readonly reason: string;
  /** Counts, and changes nothing. */
  readonly dryRun?: boolean;
}

export interface ForgettingReport {
  /** Records that were erased, or would be. */
  readonly forgotten: number;
  /** Those that were forgotten before. They have no label any more: only `record` finds one. */
  readonly already: number;
  /** What could not be forgotten yet, and why: `live` (wait), `unknown` (settle it first), `stale` (it changed: again). */
  readonly left: readonly { readonly identity: Identity; readonly why: Exclude<ForgetResult, "ok" | "forgotten"> }[];
}

const pageRecords = 200;

type Seen = NonNullable<Forgetting["record"]>;

async function* recordsOf(calls: HeldCalls, { record, label }: Forgetting): AsyncGenerator<Seen> {
  if (record !== undefined) yield record;
  if (label === undefined) return;
  let cursor: string | undefined;
  do {
    const page = await calls.list({ label, limit: pageRecords, ...(cursor !== undefined && { cursor }) });
    yield* page.records;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function check(request: Forgetting): void {
  const names = { record: true, label: true, actor: true, reason: true, dryRun: true } as const;
  knownOptions<Forgetting>("forget", request, names);
  const { record, label, actor, reason } = request;
  if ((record === undefined) === (label === undefined)) {
    throw optionInvalid("forget", "either a record or a label", record === undefined ? undefined : "both");
  }
  if (label !== undefined && (typeof label.name !== "string" || typeof label.value !== "string")) {
    throw optionInvalid("label", "{ name, value }, both texts", label);
  }
  checkAuditText("actor", actor);
  checkAuditText("reason", reason);
  if (request.dryRun !== undefined) booleanOption("dryRun", request.dryRun);
  const values = label === undefined ? [] : [label.value];
  if (values.some((value) => value !== "" && (reason.includes(value) || actor.includes(value)))) {
    throw optionInvalid(
      "reason",
      "a text that does not name what is to be forgotten: the audit keeps it",
      "one that does",
    );
  }
}

/** Also run in every process with a `replayCache`: what is cached there is replayed until it expires or `sweep` runs. */
export async function forget(holder: StoreHolder, request: Forgetting): Promise<ForgettingReport> {
  check(request);
  const { actor, reason, dryRun = false } = request;
  const calls = callsOf(holder, { environment: systemEnvironment, emit: () => undefined });
  let forgotten = 0;
  let already = 0;
  const left: { identity: Identity; why: Exclude<ForgetResult, "ok" | "forgotten"> }[] = [];
  for await (const seen of recordsOf(calls, request)) {
    const { identity, fence } = seen;
    const result = dryRun ? (forgetRefusalSeen(seen) ?? "ok") : await calls.forget({ identity, fence, actor, reason });
    if (result === "ok") forgotten += 1;
    else if (result === "forgotten") already += 1;
    else left.push({ identity, why: result });
  }
  // Also what was said of them where no record of theirs is named.
  if (request.label !== undefined && !dryRun) await calls.emptyReasons([request.label.value]);
  return { forgotten, already, left };
}
