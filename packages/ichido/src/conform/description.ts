/**
 * What the runner knows about a server: enough to send valid requests. `{{uuid}}` in any of its texts is replaced by a
 * new value for every intended effect, where an e-mail or a name must be unique.
 */
import { profiles, type Profile, type ProfileName } from "../core/contract/profiles.ts";

export type HeaderMap = Readonly<Record<string, string>>;

/** A request, or what differs from the described operation. */
export interface RequestPart {
  readonly method?: string;
  /** On the server under test; with its query. */
  readonly path?: string;
  readonly headers?: HeaderMap;
  /** A JSON value. */
  readonly body?: unknown;
  /** In place of `body`: text that is sent as it is. Its `Content-Type` is `application/json` unless `headers` say. */
  readonly content?: string;
  /** The status of the first answer. Default: that of the operation. */
  readonly status?: number;
}

export interface Variants {
  /** Takes about `ms` before its effect, and then answers as the operation does. */
  readonly slow?: RequestPart & { readonly ms: number };
  /** The handler fails before its effect. Only `headers` may differ, so that the retry is the same request. */
  readonly throws?: RequestPart;
  /** The handler fails after its effect, where unknown outcomes are held or verified. */
  readonly throwsAfterEffect?: RequestPart;
  /** The server refuses this body before the operation begins (schema, size). */
  readonly invalid?: RequestPart;
  /** The operation itself answers 402, 404 or the like. */
  readonly declined?: RequestPart;
  /** The operation itself answers 422. */
  readonly unprocessable?: RequestPart;
  readonly noContent?: RequestPart;
  readonly redirect?: RequestPart;
  /** The operation's own 202 with `Location`. */
  readonly accepted?: RequestPart;
  readonly binary?: RequestPart;
  readonly streamed?: RequestPart;
  /** Answers with more bytes than the server stores. */
  readonly large?: RequestPart;
  readonly cookies?: RequestPart;
  /** Answers with header lines that belong to one request alone: request ids, rate limits, timings. */
  readonly exchange?: RequestPart;
  /** The server remembers its key for `ms` only. */
  readonly expiring?: RequestPart & { readonly ms: number };
  /** Requires `If-Match`, and changes the version. */
  readonly conditional?: RequestPart & { readonly ifMatch: string; readonly stale: string };
}

/** Other kinds of content that the operation accepts. */
export type Accepts = "any-json" | "empty" | "binary" | "gzip" | "form";

export interface Description {
  readonly url: string;
  readonly profile?: ProfileName;
  /** Single settings that differ from the profile. */
  readonly overrides?: Partial<Profile>;
  readonly keyRequired?: boolean;
  readonly operation: RequestPart & { readonly path: string };
  /** Another valid body of the operation. */
  readonly otherBody?: unknown;
  /** In place of `otherBody`: text, for forms and uploads. With the `headers` of the operation. */
  readonly otherContent?: string;
  readonly accepts?: readonly Accepts[];
  readonly compare?: "semantic" | "bytes";
  /** Another operation that takes the same body. */
  readonly secondOperation?: RequestPart & { readonly path: string };
  /** An operation where the key is optional. */
  readonly optionalOperation?: RequestPart & { readonly path: string };
  /** Headers that authenticate two independent callers. */
  readonly principals?: readonly HeaderMap[];
  /** Renewed credentials of the first caller. */
  readonly rotated?: HeaderMap;
  /** Credentials of the first caller that the server refuses with 401 or 403. */
  readonly refused?: HeaderMap;
  /** Callers and keys that a joined identity would confuse: tenant `a` with `b:c`, tenant `a:b` with `c`. */
  readonly shifted?: readonly { readonly headers: HeaderMap; readonly key: string }[];
  /** Where the number of effects can be read; on another server too. */
  readonly effects?: { readonly url: string; readonly pointer?: string; readonly headers?: HeaderMap };
  /** A safe request (`GET`) beside the operation. */
  readonly read?: RequestPart & { readonly path: string };
  readonly cors?: { readonly origins: readonly [string, string] };
  /** The same service at other addresses, on the same store. */
  readonly replicas?: readonly string[];
  /** The published policy, such as `/.well-known/idempotency`. */
  readonly policy?: string;
  readonly variants?: Variants;
}

export function profileOf({ profile = "ietf", overrides }: Description): Profile {
  return { ...profiles[profile], ...overrides };
}
