/**
 * A record as the fields of one hash:
 *
 *   s state (p, c, f)   o owner   t fence   n attempts   l end of lease   c created   u updated   e expires   (microseconds)
 *   f raw, canonical and former hash, 32 bytes each   i identity, fingerprint version and labels as JSON
 *   r head of the answer (final or interim)  b its body   z the body's length   h reason of a hold
 *   x steps started; N<name> place, S<place> start, L<place> last start, F<place> finished, R<place> result
 *   a how the owner came by the record (absent: it was new)   d 1 when a doubt about it outlives its retention
 *   m resources; m<place> one of them as JSON, M<JSON> its place
 *   y audit rows; A<place> one of them   w a caller waits for the end   g the call that forgot it   q the index keys that still name it
 */
import type {
  Fingerprint,
  Identity,
  Key,
  OwnerToken,
  WrittenState,
  StoredResponse,
} from "../../core/contract/record.ts";
import type { AuditEntry, Resource } from "../../core/contract/history.ts";
import type { ClaimRequest, Step } from "../../core/contract/store.ts";
import { originKept, toMs, type HeldRecord } from "../../core/record-machine/record.ts";
import { answersOf, stepView, type FirstClaim } from "../../core/record-machine/view.ts";
import { decodeHeaders, encodeHeaders, kindOf, storedJson } from "../encoding.ts";
import { bufferOf, bytesOf, listOf, numberOf, optionalTextOf, textOf } from "../../drivers/redis/reply.ts";

export const fields = ["s", "o", "t", "n", "l", "c", "u", "e", "f", "i", "r", "h", "x", "z", "d", "a"] as const;
const bodyField = fields.length;

const states: ReadonlyMap<string, WrittenState> = new Map([
  ["p", "processing"],
  ["c", "completed"],
  ["f", "failed"],
]);
const hashBytes = 32;

/** Labels as pairs: one may be called `__proto__`. */
type FirstClaimText = [
  key: string,
  scopeHash: string,
  tenant: string | null,
  principal: string | null,
  operation: string,
  version: number,
  labels: [name: string, value: string][],
];

export function encodeFirstClaim({
  identity,
  fingerprint,
  labels,
}: Pick<ClaimRequest, "identity" | "fingerprint" | "labels">): string {
  const firstClaim: FirstClaimText = [
    identity.key,
    bufferOf(identity.scopeHash).toString("base64url"),
    identity.tenant ?? null,
    identity.principal ?? null,
    identity.operation,
    fingerprint.version,
    labels === undefined ? [] : Object.entries(labels),
  ];
  return JSON.stringify(firstClaim);
}

/** `full 201 [["content-type","text/plain"],…]` */
export function encodeHead({ kind, status, headers }: Omit<StoredResponse, "body">): string {
  return `${kind} ${status} ${encodeHeaders(headers)}`;
}

export function decodeResponse(head: unknown, body: unknown): StoredResponse {
  const text = textOf(head);
  const first = text.indexOf(" ");
  const second = text.indexOf(" ", first + 1);
  return {
    kind: kindOf(text.slice(0, first)),
    status: numberOf(text.slice(first + 1, second)),
    headers: decodeHeaders(text.slice(second + 1)),
    body: bytesOf(body),
  };
}

/** As the rules of a record take it, without what only claims ask for. */
export interface Row extends Omit<HeldRecord, "fingerprint">, FirstClaim {
  readonly bodyBytes: number;
}

export const damagedRecord = "a record in Redis does not hold what ichido wrote";

/** `values` are those of `fields`, and the body where it was asked for. Nothing when there is no such record. */
export function rowOf(values: readonly unknown[]): Row | undefined {
  const [s, o, t, n, l, c, u, e, f, i, r, h, x, z, d, a] = values;
  const state = states.get(optionalTextOf(s) ?? "");
  if (state === undefined) {
    if (values.every((value) => value === null || value === undefined)) return undefined;
    throw new TypeError(damagedRecord);
  }
  const firstClaim = decodeFirstClaim(i);
  const attempts = numberOf(n);
  const answer = r === null || r === undefined ? undefined : decodeResponse(r, values[bodyField]);
  return {
    identity: firstClaim.identity,
    fingerprint: fingerprintOf(f, firstClaim.version),
    labels: firstClaim.labels,
    state,
    owner: textOf(o) as OwnerToken,
    origin: originKept(optionalTextOf(a), attempts),
    fence: numberOf(t),
    attempts,
    leaseUs: numberOf(l),
    stepsStarted: numberOf(x),
    ...answersOf(state, answer),
    holdReason: optionalTextOf(h),
    createdUs: numberOf(c),
    updatedUs: numberOf(u),
    expiresUs: numberOf(e),
    bodyBytes: z === null || z === undefined ? 0 : numberOf(z),
    doubtStays: optionalTextOf(d) === "1",
  };
}

function decodeFirstClaim(value: unknown): {
  identity: Identity;
  version: number;
  labels: Readonly<Record<string, string>>;
} {
  const [key, scopeHash, tenant, principal, operation, version, labels] = storedJson(textOf(value)) as FirstClaimText;
  return {
    identity: {
      key: key as Key,
      scopeHash: new Uint8Array(Buffer.from(scopeHash, "base64url")),
      tenant: tenant ?? undefined,
      principal: principal ?? undefined,
      operation,
    },
    version,
    labels: Object.fromEntries(labels),
  };
}

function fingerprintOf(value: unknown, version: number): Fingerprint {
  const bytes = bytesOf(value);
  if (bytes.length !== 2 * hashBytes && bytes.length !== 3 * hashBytes) throw new TypeError(damagedRecord);
  const former = bytes.slice(2 * hashBytes);
  return {
    version,
    raw: bytes.slice(0, hashBytes),
    canonical: bytes.slice(hashBytes, 2 * hashBytes),
    ...(former.length === 0 ? {} : { former }),
  };
}

export function stepsOf(reply: unknown): readonly Step[] {
  const [now, ...parts] = listOf(reply);
  const nowUs = numberOf(now);
  const steps: Step[] = [];
  for (let at = 0; at < parts.length; at += 4) {
    const [, attempt, started, name = ""] = /^(\d+) (\d+) ([\s\S]*)$/.exec(textOf(parts[at])) ?? [];
    const startedUs = numberOf(started);
    const finished = parts[at + 1] !== null;
    const step = {
      name,
      attempt: numberOf(attempt),
      startedUs,
      lastStartedUs: parts[at + 3] === null ? startedUs : numberOf(parts[at + 3]),
      finishedUs: finished ? numberOf(parts[at + 1]) : undefined,
      result: finished ? bytesOf(parts[at + 2]) : undefined,
    };
    steps.push(stepView(step, nowUs));
  }
  return steps;
}

export const encodeResource = ({ kind, id }: Resource): string => JSON.stringify([kind, id]);

export function decodeResource(value: unknown): Resource {
  const [kind, id] = listOf(storedJson(textOf(value)));
  return { kind: textOf(kind), id: textOf(id) };
}

export function encodeAudit(entry: Omit<AuditEntry, "atMs">): string {
  return JSON.stringify([entry.actor, entry.action, entry.reason, entry.fence ?? 0]);
}

export function auditOf(value: unknown): AuditEntry {
  const text = textOf(value);
  const space = text.indexOf(" ");
  const [actor, action, reason, fence] = listOf(storedJson(text.slice(space + 1)));
  return {
    atMs: toMs(numberOf(text.slice(0, space))),
    actor: textOf(actor),
    action: textOf(action),
    reason: textOf(reason),
    fence: numberOf(fence),
  };
}
