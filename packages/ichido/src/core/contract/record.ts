/** The record, its states, and the branded values that must not be mixed. */

declare const brand: unique symbol;
type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };

/** A validated idempotency key, without quotes. */
export type Key = Brand<string, "Key">;
/** Names one attempt and no other (`owner.ts`), as 32 hexadecimal digits. */
export type OwnerToken = Brand<string, "OwnerToken">;

/** States as they are stored. */
export type WrittenState = "processing" | "completed" | "failed";

/** States as read: `unknown` is `processing` whose lease lapsed or was ended, or with an interim answer or a hold. */
export type RecordState = WrittenState | "unknown";

/** Whose key it is. Leave a part out by not naming it; a named part must be a non-empty string. */
export interface Scope {
  readonly tenant?: string;
  readonly principal?: string;
}

/** As a program names them. Most ids are numbers: 7 is the same caller as "7". */
export interface ScopeLike {
  readonly tenant?: string | number | bigint;
  readonly principal?: string | number | bigint;
}

/** Tenant + principal + operation + key. Made by `identityOf` in `scope.ts`, never by hand. */
export interface Identity {
  readonly key: Key;
  /** SHA-256 of the length-prefixed tenant, principal and operation: 32 bytes. With the key, the primary key. */
  readonly scopeHash: Uint8Array;
  readonly tenant: string | undefined;
  readonly principal: string | undefined;
  readonly operation: string;
}

/**
 * What was asked, as two hashes of 32 bytes. Two requests are the same when the raw hashes are equal or the canonical
 * hashes are equal; the version is mixed into the canonical hash, so hashes of different versions never meet by chance.
 */
export interface Fingerprint {
  readonly version: number;
  readonly raw: Uint8Array;
  readonly canonical: Uint8Array;
  /** The canonical hash by the former version, so that a rolling deploy does not turn retries into mismatches. */
  readonly former?: Uint8Array;
}

/** A header line; names in lower case, repeated names repeated. */
export type HeaderLine = readonly [name: string, value: string];

/**
 * What the store keeps of an answer. A `tombstone` remembers that the operation ran and how it answered, but not the
 * bytes (past the cap, streamed): it is never replayed, and the operation never runs again.
 */
export interface StoredResponse {
  readonly kind: "full" | "tombstone";
  readonly status: number;
  readonly headers: readonly HeaderLine[];
  readonly body: Uint8Array;
}
