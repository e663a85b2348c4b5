/**
 * The least code that protects an operation: key, scope, SHA-256 of the body, insert-if-absent with owner and lease, the
 * answer held until it is stored, replay, 422 for other content. No waiting, no renewal, no streams, no doubt.
 */
import { hash, randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export const leaseMs = 30_000;
export const retentionMs = 86_400_000;

export interface Kept {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

export interface Claim {
  readonly id: string;
  readonly content: string;
  readonly owner: string;
}

/** What a key already holds. */
export interface Seen {
  readonly content: string;
  /** Absent while its owner is at work. */
  readonly kept?: Kept | undefined;
}

export interface MinimumStore {
  /** Undefined where the key is now the claimer's. */
  claim(claim: Claim): Promise<Seen | undefined>;
  /** False where the key is somebody else's by now. */
  complete(claim: Claim, kept: Kept): Promise<boolean>;
}

type Verdict = { readonly answer: Kept } | { complete(kept: Kept): Promise<void> };

const problem = (status: number, ...headers: [string, string][]): Verdict => ({
  answer: { status, headers: [["content-type", "application/problem+json"], ...headers], body: Buffer.from("{}") },
});

export async function begin(store: MinimumStore, headers: IncomingHttpHeaders, body: Buffer): Promise<Verdict> {
  const key = headers["idempotency-key"];
  if (typeof key !== "string") return problem(400);
  const id = hash("sha256", JSON.stringify([headers.authorization, "payment.create", key]), "base64url");
  const claim = { id, content: hash("sha256", body, "base64url"), owner: randomUUID() };
  const seen = await store.claim(claim);
  if (seen === undefined) {
    return {
      async complete(kept) {
        if (!(await store.complete(claim, kept))) throw new Error("the key was taken over");
      },
    };
  }
  if (seen.content !== claim.content) return problem(422);
  if (seen.kept === undefined) return problem(409, ["retry-after", "1"]);
  return { answer: { ...seen.kept, headers: [...seen.kept.headers, ["idempotency-replayed", "true"]] } };
}
