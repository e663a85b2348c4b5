/**
 * The least code that protects an operation: key, scope, SHA-256 of the body, insert-if-absent with owner and lease, the
 * answer held until it is stored, replay, 422 for other content. No waiting, no renewal, no streams, no doubt.
 */
import { hash, randomUUID } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";

export const leaseMs = 30_000;
export const retentionMs = 86_400_000;
export const keptNames = ["content-type", "location", "etag"] as const;

export interface Kept {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Buffer;
}

export type Claim = Readonly<Record<"id" | "content" | "owner", string>>;

/** What a key already holds; nothing kept while its owner is at work. */
export interface Seen {
  readonly content: string;
  readonly kept?: Kept | undefined;
}

export interface MinimumStore {
  /** Undefined where the key is now the claimer's. */
  claim(claim: Claim): Promise<Seen | undefined>;
  /** False where the key is somebody else's by now. */
  complete(claim: Claim, kept: Kept): Promise<boolean>;
}

export type Verdict = { readonly answer: Kept } | { complete(kept: Kept): Promise<void> };

const problem = (status: number, ...headers: [string, string][]): Verdict => ({
  answer: { status, headers: [["content-type", "application/problem+json"], ...headers], body: Buffer.from("{}") },
});

export async function begin(store: MinimumStore, headers: IncomingHttpHeaders, body: Buffer): Promise<Verdict> {
  const key = headers["idempotency-key"];
  if (typeof key !== "string") return problem(400);
  const id = hash("sha256", JSON.stringify([headers.authorization, "payment.create", key]), "base64url");
  const claim = { id, content: hash("sha256", body, "base64url"), owner: randomUUID() };
  const seen = await store.claim(claim);
  if (seen?.content === claim.content && seen.kept !== undefined)
    return { answer: { ...seen.kept, headers: [...seen.kept.headers, ["idempotency-replayed", "true"]] } };
  if (seen !== undefined) return seen.content === claim.content ? problem(409, ["retry-after", "1"]) : problem(422);
  return {
    async complete(kept) {
      if (!(await store.complete(claim, kept))) throw new Error("the key was taken over");
    },
  };
}
