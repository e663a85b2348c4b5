/** Whose key it is: scope and identity, and the names derived from an identity, for logs and for other services. */
import { IchidoError } from "../contract/errors.ts";
import type { Profile } from "../contract/profiles.ts";
import type { Identity, Key, Scope, ScopeLike } from "../contract/record.ts";
import { hasLoneSurrogate, lengthPrefixed, sha256, sha256Hex } from "./sha256.ts";

/** Characters in a tenant or principal, so that it fits a column of every store. */
export const scopePartLengthMax = 255;

/** For `dangerouslyShareKeys`: one key space for all callers. */
export const sharedScope: Scope = Object.freeze({});

/**
 * What the user's `scope` function returned, checked. A part that is named but has no value is nearly always a slip in
 * the authentication code, and would let one caller see another's answers: it is refused, never treated as "left out".
 */
export function checkScope(value: unknown): Scope {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw scopeMissing(`it returned ${describe(value)}`);
  }
  if (typeof (value as { then?: unknown }).then === "function") {
    throw scopeMissing("it returned a promise; it must answer at once, from what authentication already found out");
  }
  const stranger = Object.keys(value).find((name) => name !== "tenant" && name !== "principal");
  if (stranger !== undefined) throw scopeMissing(`it named "${stranger}", which is no part of a scope`);
  const tenant = partOf(value, "tenant");
  const principal = partOf(value, "principal");
  if (tenant === undefined && principal === undefined) throw scopeMissing("it named neither tenant nor principal");
  return { ...(tenant !== undefined && { tenant }), ...(principal !== undefined && { principal }) };
}

/** A missing scope has its own error: it must count neither as a failure of the store nor of the handler. */
export function scopeFor<Native>(scope: (request: Native) => ScopeLike, request: Native): Scope {
  let given: ScopeLike;
  try {
    given = scope(request);
  } catch (cause) {
    throw scopeMissing(
      `it threw ${cause instanceof Error ? `${cause.name}: ${cause.message}` : describe(cause)}`,
      cause,
    );
  }
  return checkScope(given);
}

function partOf(value: object, name: "tenant" | "principal"): string | undefined {
  if (!(name in value)) return undefined;
  const given = (value as Record<string, unknown>)[name];
  const part = typeof given === "bigint" || Number.isSafeInteger(given) ? String(given) : given;
  if (typeof part !== "string") throw scopeMissing(`its ${name} is ${describe(part)}`);
  if (part === "") throw scopeMissing(`its ${name} is an empty string`);
  if (part.length > scopePartLengthMax) {
    throw scopeMissing(`its ${name} has ${part.length} characters, more than ${scopePartLengthMax}`);
  }
  if (part.includes("\0")) throw scopeMissing(`its ${name} holds a NUL character`);
  if (hasLoneSurrogate(part)) throw scopeMissing(`its ${name} holds half of a surrogate pair`);
  return part;
}

function scopeMissing(what: string, cause?: unknown): IchidoError {
  return new IchidoError(
    "scope-missing",
    `The scope (option scope of createIchido or of the route, member scope of run) did not say whose key it is: ${what}. ` +
      "Give { tenant } or { principal } or both, each a non-empty string or a whole number from the authenticated caller; " +
      "leave a part out by not naming it. For routes without a user give a constant principal, by the route's own scope.",
    { cause },
  );
}

function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return `${value}, which is no safe whole number`;
  return `of type ${typeof value}`;
}

/**
 * Tenant, principal, operation and key as one identity. Where a profile has one key space per principal, the operation
 * stays out of the hash (there the fingerprint distinguishes operations), but the record keeps it for people to read.
 */
export function identityOf(
  scope: Scope,
  operation: string,
  key: Key,
  profile: Pick<Profile, "operationInIdentity">,
): Identity {
  if (operation === "" || hasLoneSurrogate(operation)) {
    throw new IchidoError("option-invalid", "The operation is empty or not well-formed text; name the effect.");
  }
  const hashed = profile.operationInIdentity ? operation : undefined;
  const scopeHash = scopeHashOf(lengthPrefixed(["ichido-scope-1", scope.tenant, scope.principal, hashed]));
  return new MadeIdentity(key, scopeHash, scope, operation);
}

/** Joined and hashed once: every map of this process that a request passes is asked by the same text. */
class MadeIdentity implements Identity {
  readonly key: Key;
  readonly scopeHash: Uint8Array;
  readonly tenant: string | undefined;
  readonly principal: string | undefined;
  readonly operation: string;
  #localId: string | undefined;

  constructor(key: Key, scopeHash: Uint8Array, { tenant, principal }: Scope, operation: string) {
    this.key = key;
    this.scopeHash = scopeHash;
    this.tenant = tenant;
    this.principal = principal;
    this.operation = operation;
  }

  static localIdOf(identity: Pick<Identity, "key" | "scopeHash">): string {
    if (!(#localId in identity)) return scopeWordOf(identity.scopeHash) + identity.key;
    identity.#localId ??= scopeWordOf(identity.scopeHash) + identity.key;
    return identity.#localId;
  }
}

const scopeHashes = new Map<string, Uint8Array>();
const scopeHashesMax = 1_000;

/** Cached: the same few callers send most requests. */
function scopeHashOf(text: string): Uint8Array {
  let hash = scopeHashes.get(text);
  if (hash === undefined) {
    hash = sha256(text);
    if (scopeHashes.size >= scopeHashesMax) scopeHashes.clear();
    scopeHashes.set(text, hash);
  }
  return hash;
}

const scopeWords = new WeakMap<Uint8Array, string>();

/** The hash as a text of one character a byte. */
export function scopeWordOf(scopeHash: Uint8Array): string {
  let word = scopeWords.get(scopeHash);
  if (word === undefined) {
    word = Buffer.from(scopeHash).toString("latin1");
    scopeWords.set(scopeHash, word);
  }
  return word;
}

/**
 * The identity as one string for the maps of this process: cheaper than the hashes for logs and other services. 32
 * characters of hash, then the key: no delimiter that a key could imitate.
 */
export function localIdOf(identity: Pick<Identity, "key" | "scopeHash">): string {
  return MadeIdentity.localIdOf(identity);
}

const scratch = Buffer.alloc(4_096);

/** Scope hash and key in one buffer, which the next call reuses. */
function bytesOf({ key, scopeHash }: Pick<Identity, "key" | "scopeHash">): Buffer {
  if (scopeHash.length + key.length * 3 > scratch.length) return Buffer.concat([scopeHash, Buffer.from(key)]);
  scratch.set(scopeHash);
  return scratch.subarray(0, scopeHash.length + scratch.write(key, scopeHash.length));
}

/** Eight hexadecimal digits that stand for the key in logs, where the key itself must not appear. */
export function keyHashOf(identity: Pick<Identity, "key" | "scopeHash">): string {
  return sha256Hex(bytesOf(identity)).slice(0, 8);
}

export const referenceNameLengthMax = 200;
/** 240 bits: 40 characters of base64url without padding, which every provider's key field takes. */
const referenceBytes = 30;

/**
 * The key to send to an external service, so that it too takes effect once. It is derived only from the identity, the
 * canonical hash stored at first sight and the name: every attempt sends the same one, also after the store has
 * forgotten the record, and no attempt with other content ever sends it.
 */
export function referenceOf(identity: Identity, canonical: Uint8Array, name: string): string {
  if (name === "" || name.length > referenceNameLengthMax || hasLoneSurrogate(name)) {
    throw new IchidoError(
      "usage-invalid",
      `The name of a reference must be well-formed text of 1 to ${referenceNameLengthMax} characters; ` +
        `this one has ${name.length}. Use the name of the step, such as "bank.charge".`,
    );
  }
  const parts = ["ichido-reference-1", hex(identity.scopeHash), identity.key, hex(canonical), name];
  return Buffer.from(sha256(lengthPrefixed(parts)).subarray(0, referenceBytes)).toString("base64url");
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}
