/** Makers of identities, fingerprints, owners and answers for tests. Pure: the same seed gives the same value. */
import { createHash } from "node:crypto";
import type { Claim, SettleRequest } from "../../core/contract/store.ts";
import type { Fingerprint, HeaderLine, Identity, Key, OwnerToken, StoredResponse } from "../../core/contract/record.ts";

const sha256 = (text: string): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest());

export interface SampleIdentityParts {
  readonly tenant?: string;
  readonly principal?: string;
  readonly operation?: string;
}

/** Another tenant, principal or operation gives another `scopeHash`. */
export function sampleIdentity(key: string, parts: SampleIdentityParts = {}): Identity {
  const { tenant, principal } = parts;
  const operation = parts.operation ?? "sample.create";
  return {
    // eslint-disable-next-line typescript/no-unsafe-type-assertion -- tests may use any text as a key
    key: key as Key,
    scopeHash: sha256(JSON.stringify([tenant ?? null, principal ?? null, operation])),
    tenant,
    principal,
    operation,
  };
}

/** `content` decides both hashes. */
export function sampleFingerprint(content = "content", version = 1): Fingerprint {
  return { version, raw: sha256(`raw:${content}`), canonical: sha256(`canonical:${version}:${content}`) };
}

/** 32 hexadecimal digits, as the engine makes them. */
export function sampleOwner(name: string): OwnerToken {
  // eslint-disable-next-line typescript/no-unsafe-type-assertion -- the brand is what this function gives
  return createHash("sha256").update(`owner:${name}`).digest("hex").slice(0, 32) as OwnerToken;
}

/** A settlement by a person, for the record as it was looked at. */
export function settlement(
  { identity, fence }: Pick<Claim, "identity" | "fence">,
  decision: SettleRequest["decision"],
): SettleRequest {
  return { identity, fence, decision, actor: "on-call", reason: `because: "${decision.kind}"` };
}

export interface SampleResponseParts {
  readonly kind?: StoredResponse["kind"];
  readonly status?: number;
  readonly headers?: readonly HeaderLine[];
  readonly body?: string | Uint8Array;
}

export function sampleResponse(parts: SampleResponseParts = {}): StoredResponse {
  const body = parts.body ?? '{"id":1}';
  return {
    kind: parts.kind ?? "full",
    status: parts.status ?? 201,
    headers: parts.headers ?? [["content-type", "application/json"]],
    body: typeof body === "string" ? new TextEncoder().encode(body) : body,
  };
}
