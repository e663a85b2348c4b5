/** Erases what a record holds, then what is kept beside it, and what finds it. */
import { randomUUID } from "node:crypto";
import type { AuditEntry, ForgetRequest, ForgetResult, Resource } from "../../core/contract/history.ts";
import { limits } from "../../core/contract/defaults.ts";
import { IchidoError } from "../../core/contract/errors.ts";
import type { Identity } from "../../core/contract/record.ts";
import { nobody } from "../../core/record-machine/bounds.ts";
import { forgetAction, forgetRefusal, tombstoneOf } from "../../core/record-machine/forget.ts";
import { namesAny } from "../../core/record-machine/reasons.ts";
import { listOf, numberOf, optionalTextOf, textOf } from "../../drivers/redis/reply.ts";
import { storedJson } from "../encoding.ts";
import { auditMax, type History } from "./history.ts";
import type { RecordIndex } from "./index-of-records.ts";
import type { Names } from "./names.ts";
import { encodeAudit, encodeFirstClaim, encodeHead, fields, rowOf } from "./row.ts";
import type { Scripts } from "./scripts.ts";
import { audit } from "./settle.ts";

const roundsMax = 8;

export interface ForgetParts {
  readonly scripts: Scripts;
  readonly names: Names;
  readonly margin: string;
  readonly history: History;
  readonly index: RecordIndex;
  readonly resources: (identity: Identity) => Promise<readonly Resource[]>;
  /** What is left to do for a tombstone: reads it, or takes it away. */
  readonly left: (name: string, command: "hget" | "hdel") => Promise<unknown>;
  /** Makes a record findable by the labels and resources that it has now. */
  readonly indexAgain: (identity: Identity) => Promise<void>;
}

/** The journal has all that was done; a record tells its own audit by itself. */
export async function emptyReasons(
  { scripts, names, history }: Pick<ForgetParts, "scripts" | "names" | "history">,
  values: readonly string[],
): Promise<number> {
  let done = 0;
  let cursor: string | undefined;
  for (;;) {
    const page = await history.auditPage({ limit: limits.historyPageMax, ...(cursor !== undefined && { cursor }) });
    const named = page.entries.filter(({ entry }) => namesAny(entry.reason, values));
    for (const { record } of named.map(({ entry }) => entry)) {
      if (record === undefined) continue;
      const name = names.record(record);
      const rows = (await audit(scripts, name)).filter(({ reason }) => namesAny(reason, values));
      const pairs = rows.flatMap((entry) => [encodeAudit(entry), encodeAudit({ ...entry, reason: "" })]);
      if (pairs.length > 0) await scripts.run("replaceAudit", name, [String(auditMax), ...pairs]);
    }
    const places = named.map(({ place }) => String(place));
    // Last: what is named here can be found again if this process dies before.
    if (places.length > 0) await scripts.run("reasons", names.journal.reasons, ["empty", ...places]);
    done += places.length;
    cursor = page.cursor;
    if (page.entries.length < limits.historyPageMax) return done;
  }
}

const emptied = (entry: AuditEntry): string => `${String(entry.atMs * 1_000)} ${encodeAudit({ ...entry, reason: "" })}`;

export async function forget(parts: ForgetParts, request: ForgetRequest): Promise<ForgetResult> {
  const { scripts, names, margin, history, index } = parts;
  const { identity, fence, actor, reason } = request;
  const name = names.record(identity);
  // The script is sent again where its answer was lost, and must know its own work from another one's.
  const call = randomUUID();
  /** What lies under other keys, perhaps on other servers: whoever asks again goes on where this ended. */
  async function finish(left: string): Promise<void> {
    await index.removeFrom(identity, storedJson(left) as string[]);
    // A process that stood still may have taken a later life out of the index.
    await parts.indexAgain(identity);
    await history.erase(identity);
    await history.note({ identity, fence, actor, action: forgetAction, reason });
    await parts.left(name, "hdel");
  }

  for (let round = 0; round < roundsMax; round += 1) {
    const [now, values] = listOf(await scripts.run("find", name, [...fields]));
    const row = rowOf(listOf(values));
    const held = row && { ...row, fingerprint: { raw: "", canonical: "" } };
    const refusal = forgetRefusal(held, request, numberOf(now));
    if (refusal === "forgotten") {
      const left = optionalTextOf(await parts.left(name, "hget"));
      if (left === undefined) await history.erase(identity);
      else await finish(left);
    }
    if (row === undefined || refusal !== undefined) return refusal ?? "absent";
    const resources = await parts.resources(identity);
    const rows = await audit(scripts, name);
    const known = { ...row.identity, principal: undefined };
    const left = JSON.stringify(index.namesOf({ labels: row.labels, resources }));
    const reply = await scripts.run("forget", name, [
      String(fence),
      String(rows.length),
      encodeFirstClaim({ identity: known, fingerprint: row.fingerprint }),
      encodeHead(tombstoneOf(row.response?.status)),
      nobody,
      margin,
      call,
      encodeAudit({ actor, action: forgetAction, reason, fence }),
      left,
      ...rows.map(emptied),
    ]);
    if (textOf(reply) !== "ok") continue;
    await finish(left);
    return "ok";
  }
  throw new IchidoError(
    "store-unavailable",
    `the record changed ${roundsMax} times while it was being forgotten, or has more than ${auditMax} audit rows; try again`,
  );
}
