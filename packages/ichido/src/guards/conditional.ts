/**
 * Conditional requests (RFC 9110 section 13). Evaluate them in the handler, that is after the claim: the retry of a
 * write that succeeded sends the old tag again, and must get its first answer instead of 412. A 412 or 428 is never
 * stored.
 */
import { knownOptions, type OptionNames } from "../core/contract/option-checks.ts";
import { sha256 } from "../core/request/sha256.ts";
import { IchidoError } from "../core/contract/errors.ts";

export type EntityTags = "*" | readonly { readonly weak: boolean; readonly tag: string }[];

export type PreconditionVerdict =
  | { readonly verdict: "proceed" }
  /** Answer with this status; the write must not happen. */
  | { readonly verdict: "failed"; readonly status: 412 }
  | { readonly verdict: "required"; readonly status: 428 }
  /** For GET and HEAD: answer without a body. */
  | { readonly verdict: "not-modified"; readonly status: 304 }
  | { readonly verdict: "malformed"; readonly status: 400; readonly header: "if-match" | "if-none-match" };

export interface PreconditionRequest {
  readonly method: string;
  /** Header fields as received; several lines are one list. */
  readonly ifMatch?: string | readonly string[] | undefined;
  readonly ifNoneMatch?: string | readonly string[] | undefined;
  /** The strong tag of what is there now; undefined when nothing is there. */
  readonly current: string | undefined;
  /**
   * Require If-Match, or If-None-Match: *, for a write (RFC 6585): no caller overwrites a version that it has not seen.
   */
  readonly required?: boolean;
}

const tagForm = /^(W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;

/** A strong tag of a version number: `"v7"`. */
export function etagOfVersion(version: number): string {
  if (!Number.isSafeInteger(version) || version < 0) {
    throw new IchidoError("usage-invalid", `version: expected a whole number from 0, got ${String(version)}`);
  }
  return `"v${version}"`;
}

/** A strong tag of the exact bytes of a representation. */
export function etagOfBytes(bytes: Uint8Array): string {
  return `"${Buffer.from(sha256(bytes)).toString("base64url")}"`;
}

/** The version in a tag of `etagOfVersion`, for `updateVersioned`; undefined for any other tag. */
export function versionOfEtag(tag: string): number | undefined {
  const version = Number(/^"v(0|[1-9]\d{0,15})"$/.exec(tag)?.[1] ?? Number.NaN);
  return Number.isSafeInteger(version) ? version : undefined;
}

/** Undefined: not a list of entity tags. Empty members are allowed, as in every list of HTTP. */
export function parseEntityTags(lines: string | readonly string[]): EntityTags | undefined {
  const text = typeof lines === "string" ? lines : lines.join(",");
  if (text.trim() === "*") return "*";
  const tags: { weak: boolean; tag: string }[] = [];
  // A comma may stand inside the quotes.
  for (const [member] of text.matchAll(/(?:[^",]|"[^"]*"?)+/g)) {
    const tag = member.trim();
    if (tag === "") continue;
    if (!tagForm.test(tag)) return undefined;
    const weak = tag.startsWith("W/");
    tags.push({ weak, tag: weak ? tag.slice(2) : tag });
  }
  return tags.length === 0 ? undefined : tags;
}

const safeMethods = new Set(["GET", "HEAD"]);

/** In the order of RFC 9110 section 13.2.2: If-Match first, then If-None-Match. */
const requestNames: OptionNames<PreconditionRequest> = {
  method: true,
  ifMatch: true,
  ifNoneMatch: true,
  current: true,
  required: true,
};

export function checkPreconditions(request: PreconditionRequest): PreconditionVerdict {
  knownOptions("checkPreconditions", request, requestNames);
  const { ifMatch, ifNoneMatch, current } = request;
  if (current !== undefined && !(tagForm.test(current) && current.startsWith('"'))) {
    throw new IchidoError("usage-invalid", `current: expected a strong entity tag in quotes, got ${current}`);
  }
  const safe = safeMethods.has(request.method);
  if (request.required === true && !safe && ifMatch === undefined) {
    const tags = ifNoneMatch === undefined ? [] : parseEntityTags(ifNoneMatch);
    // With a list of tags the write would overwrite every version that is not in the list, seen or not.
    if (tags !== undefined && tags !== "*") return { verdict: "required", status: 428 };
  }
  if (ifMatch !== undefined) {
    const tags = parseEntityTags(ifMatch);
    if (tags === undefined) return { verdict: "malformed", status: 400, header: "if-match" };
    // Strong comparison: a weak tag names no exact bytes, so a write must not rely on it.
    const matches = current !== undefined && (tags === "*" || tags.some(({ weak, tag }) => !weak && tag === current));
    if (!matches) return { verdict: "failed", status: 412 };
  }
  if (ifNoneMatch !== undefined) {
    const tags = parseEntityTags(ifNoneMatch);
    if (tags === undefined) return { verdict: "malformed", status: 400, header: "if-none-match" };
    const matches = current !== undefined && (tags === "*" || tags.some(({ tag }) => tag === current));
    if (matches) return safe ? { verdict: "not-modified", status: 304 } : { verdict: "failed", status: 412 };
  }
  return { verdict: "proceed" };
}
