/** What the runner is told about a server: enough to send requests that mean something there. */
import { profiles, type Profile, type ProfileName } from "../core/profiles.ts";

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
  /** How the operation answers it first hand. Default: as the operation does. */
  readonly status?: number;
}

export interface Variants {
  /** Takes about `ms` before its effect, and then answers as the operation does. */
  readonly slow?: RequestPart & { readonly ms: number };
  /** The handler fails before its effect. Only `headers` may differ, so that the retry is the same request. */
  readonly throws?: RequestPart;
  /** The handler fails after its effect, where unknown outcomes are held or verified. */
  readonly throwsAfterEffect?: RequestPart;
  /** A body that is refused before the operation begins (schema, size). */
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
  /** Answers with lines of one exchange: request ids, rate limits, timings. */
  readonly exchange?: RequestPart;
  /** Remembered for `ms` only. */
  readonly expiring?: RequestPart & { readonly ms: number };
  /** Wants `If-Match`, and changes the version. */
  readonly conditional?: RequestPart & { readonly ifMatch: string; readonly stale: string };
}

/** Content besides its own that the operation takes. */
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
  readonly accepts?: readonly Accepts[];
  readonly compare?: "semantic" | "bytes";
  /** Another operation that takes the same body. */
  readonly secondOperation?: RequestPart & { readonly path: string };
  /** An operation where the key is optional. */
  readonly optionalOperation?: RequestPart & { readonly path: string };
  /** Headers that authenticate two callers who share nothing. */
  readonly principals?: readonly HeaderMap[];
  /** Renewed credentials of the first caller. */
  readonly rotated?: HeaderMap;
  /** Credentials of the first caller that are refused with 401 or 403. */
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

/** A description that cannot be used. */
export class DescriptionError extends Error {
  override readonly name: string = "DescriptionError";
}

function fail(what: string, expected: string, got: unknown): never {
  throw new DescriptionError(`${what}: expected ${expected}, got ${JSON.stringify(got)?.slice(0, 80) ?? "nothing"}`);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const members: ReadonlySet<string> = new Set([
  "url",
  "profile",
  "overrides",
  "keyRequired",
  "operation",
  "otherBody",
  "accepts",
  "compare",
  "secondOperation",
  "optionalOperation",
  "principals",
  "rotated",
  "refused",
  "shifted",
  "effects",
  "read",
  "cors",
  "replicas",
  "policy",
  "variants",
] satisfies readonly (keyof Description)[]);

const variantNames: ReadonlySet<string> = new Set([
  "slow",
  "throws",
  "throwsAfterEffect",
  "invalid",
  "declined",
  "unprocessable",
  "noContent",
  "redirect",
  "accepted",
  "binary",
  "streamed",
  "large",
  "cookies",
  "exchange",
  "expiring",
  "conditional",
] satisfies readonly (keyof Variants)[]);

function checkUrl(what: string, value: unknown): void {
  const isHttp = typeof value === "string" && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol);
  if (!isHttp) fail(what, "an http or https address", value);
}

function checkHeaders(what: string, value: unknown): void {
  if (value === undefined) return;
  if (!isObject(value) || Object.values(value).some((line) => typeof line !== "string")) {
    fail(what, "an object of strings", value);
  }
}

function checkPart(what: string, value: unknown, needsPath: boolean): void {
  if (value === undefined) return;
  if (!isObject(value)) fail(what, "an object", value);
  const { path, method, headers } = value;
  if (path === undefined ? needsPath : typeof path !== "string" || !path.startsWith("/")) {
    fail(`${what}.path`, "a path that begins with /", path);
  }
  if (method !== undefined && (typeof method !== "string" || !/^[A-Z]+$/.test(method))) {
    fail(`${what}.method`, "a method in capitals", method);
  }
  checkHeaders(`${what}.headers`, headers);
  if (!["string", "undefined"].includes(typeof value["content"])) fail(`${what}.content`, "text", value["content"]);
}

function checkVariants(value: unknown): void {
  if (value === undefined) return;
  if (!isObject(value)) fail("variants", "an object", value);
  for (const [name, part] of Object.entries(value)) {
    if (!variantNames.has(name)) fail(`variants.${name}`, `one of ${[...variantNames].join(", ")}`, name);
    checkPart(`variants.${name}`, part, false);
    const { ms } = part as { ms?: unknown };
    if ((name === "slow" || name === "expiring") && (typeof ms !== "number" || ms <= 0)) {
      fail(`variants.${name}.ms`, "a positive number", ms);
    }
  }
}

/** Unknown members are refused: a misspelt one would silently leave cases out. */
export function readDescription(value: unknown): Description {
  if (!isObject(value)) fail("the description", "an object", value);
  for (const name of Object.keys(value)) {
    if (!members.has(name)) fail(name, `no such member; known are ${[...members].join(", ")}`, value[name]);
  }
  checkUrl("url", value["url"]);
  if (value["operation"] === undefined) fail("operation", "an object with the path of the operation", undefined);
  for (const name of ["operation", "secondOperation", "optionalOperation", "read"]) checkPart(name, value[name], true);
  for (const name of ["rotated", "refused"]) checkHeaders(name, value[name]);
  const { profile, principals, effects } = value;
  if (profile !== undefined && !(typeof profile === "string" && Object.hasOwn(profiles, profile))) {
    fail("profile", `one of ${Object.keys(profiles).join(", ")}`, profile);
  }
  if (principals !== undefined) {
    if (!Array.isArray(principals) || principals.length === 0)
      fail("principals", "a list of header objects", principals);
    for (const [index, headers] of principals.entries()) checkHeaders(`principals[${index}]`, headers);
  }
  if (effects !== undefined && !(isObject(effects) && typeof effects["url"] === "string")) {
    fail("effects", "an object with the url of the counter", effects);
  }
  checkVariants(value["variants"]);
  return value as unknown as Description;
}

export function profileOf({ profile = "ietf", overrides }: Description): Profile {
  return { ...profiles[profile], ...overrides };
}
