/** One protected route as its callers see it: everything that follows from its options, as plain data. */
import { knownOptions } from "../core/contract/option-checks.ts";
import type { Ichido } from "../core/engine/create-ichido.ts";
import { catalogue, IchidoError, type IchidoErrorCode } from "../core/contract/errors.ts";
import type { ResolvedRoute, RouteOptions } from "../core/contract/options.ts";
import type { Profile } from "../core/contract/profiles.ts";
import { isoDuration } from "./duration.ts";

/** The engine, as far as a description needs it. */
export type DescribedEngine<Native> = Pick<Ichido<Native>, "route" | "published">;

export interface PublishedRoute<Native = never> {
  readonly method: string;
  /** As the framework spells it, `/payments/:id`, or as a template, `/payments/{id}`. Mount points included. */
  readonly path: string;
  /** The same options object that the adapter got, so that the two cannot differ. */
  readonly options: RouteOptions<Native>;
}

export interface PolicyOptions {
  /** The callers' names for the two parts of the scope, where both are used. Default `["tenant", "principal"]`. */
  readonly scope?: readonly string[];
}

export interface KeyDescription {
  /** `strict`: a structured string, in quotes. `bare`: the text alone. `lenient`: either, as one key. */
  readonly form: Profile["keyForm"];
  readonly format: "uuid-v4" | "any";
  readonly alphabet: string;
  readonly length: { readonly min: number; readonly max: number };
  readonly compared: "exact" | "lower-case";
}

export interface RetentionDescription {
  /** ISO 8601. */
  readonly duration: string;
  readonly anchor: "first-request";
  readonly extendedByReplays: false;
  readonly afterwards: "runs-as-new";
}

export interface StatusesDescription {
  /** Classes (`2xx`) and single statuses. */
  readonly stored: readonly string[];
  readonly notStored: readonly string[];
  readonly createdReplayedAs: 200 | 201;
}

export interface ErrorDescription {
  readonly code: IchidoErrorCode;
  readonly type: string;
  readonly status: number;
  readonly retryable: boolean;
  readonly title: string;
}

export interface OperationDescription {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly header: string;
  readonly required: boolean;
  readonly profile: string;
  readonly key: KeyDescription;
  readonly scope: readonly string[];
  readonly compared: {
    readonly parts: readonly string[];
    readonly content: "by-meaning" | "bytes";
    /** Members of the JSON body that count; absent: all. */
    readonly fields?: readonly string[];
  };
  readonly retention: RetentionDescription;
  /** How long a running request holds its key without a sign of life. */
  readonly lease: string;
  readonly inFlight: "conflict" | "accepted" | { readonly waits: string };
  readonly responseBytesMax: number;
  readonly storedStatuses: StatusesDescription;
  readonly marker: { readonly header: string; readonly value: string };
  readonly errors: readonly ErrorDescription[];
}

export function titleCase(header: string): string {
  return header.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
}

/** `:id` of most frameworks → `{id}` (RFC 6570, OpenAPI). */
export function pathTemplate(path: string): string {
  return path.replace(/:([A-Za-z_]\w*)/g, "{$1}");
}

const unquoted = "letters, digits and !#$%&*+-./:=?@^_`|~";

const alphabets: Readonly<Record<Profile["keyForm"], string>> = {
  lenient: `printable ASCII inside quotes; ${unquoted} without`,
  strict: "printable ASCII, as an RFC 9651 string in quotes",
  bare: "visible ASCII except comma and semicolon",
};

/** The characters of keys without quotes. `isLenient`: some routes take quoted keys as well. */
export function bareAlphabet(isLenient: boolean): string {
  return isLenient ? unquoted : alphabets.bare;
}

function keyOf(profile: Profile): KeyDescription {
  const isUuid = profile.keyPattern === "uuid-v4";
  return {
    form: profile.keyForm,
    format: profile.keyPattern,
    alphabet: isUuid ? "0-9 a-f A-F -" : alphabets[profile.keyForm],
    length: isUuid ? { min: 36, max: 36 } : { min: 1, max: profile.keyLengthMax },
    compared: profile.keyCase === "lower" ? "lower-case" : "exact",
  };
}

/** Calls the rule itself for every status: a separate description of it could be out of date. */
export function statusesOf(keep: ResolvedRoute<never>["keep"]): Omit<StatusesDescription, "createdReplayedAs"> {
  const stored: string[] = [];
  const notStored: string[] = [];
  for (const hundred of [2, 3, 4, 5]) {
    const statuses = Array.from({ length: 100 }, (_, index) => hundred * 100 + index);
    const kept = statuses.filter((status) => keep({ status, headers: [] }));
    const [rule, exceptions] = kept.length > 50 ? [stored, notStored] : [notStored, stored];
    rule.push(`${hundred}xx`);
    const strange = kept.length > 50 ? statuses.filter((status) => !kept.includes(status)) : kept;
    exceptions.push(...strange.map(String));
  }
  return { stored, notStored };
}

function errorCodes(route: ResolvedRoute<never>, required: boolean): readonly IchidoErrorCode[] {
  return [
    ...(required ? (["idempotency-key-required"] as const) : []),
    "idempotency-key-invalid",
    "idempotency-key-reused",
    ...(route.inFlight === "accepted" ? [] : (["idempotency-in-flight"] as const)),
    "outcome-unknown",
    "response-not-stored",
    "request-too-large",
    "request-unreadable",
    ...(route.dangerouslyRunWithoutStore ? [] : (["store-unavailable"] as const)),
    "quota-exceeded",
    "engine-closed",
  ];
}

function errorsOf(route: ResolvedRoute<never>, required: boolean, problemBase: string): readonly ErrorDescription[] {
  return errorCodes(route, required).map((code) => ({
    code,
    type: `${problemBase}${code}`,
    status: code === "idempotency-key-reused" ? route.profile.mismatchStatus : catalogue[code].status,
    retryable: catalogue[code].retryable,
    title: catalogue[code].title,
  }));
}

export function describeRoute<Native>(
  ichido: DescribedEngine<Native>,
  published: PublishedRoute<Native>,
  options: PolicyOptions = {},
): OperationDescription {
  knownOptions("the policy", options, { scope: true });
  knownOptions("a published route", published, { method: true, path: true, options: true });
  const { scope = ["tenant", "principal"] } = options;
  const route = ichido.route(published.options);
  const method = published.method.toUpperCase();
  if (!route.methods.has(method)) {
    throw new IchidoError(
      "option-invalid",
      `operation ${JSON.stringify(route.operation)} is published for ${method}, but protects ${[...route.methods].join(", ")} only`,
    );
  }
  const { profile, fingerprint } = route;
  const required = route.requiredFor.has(method);
  return {
    operation: route.operation,
    method,
    path: pathTemplate(published.path),
    header: titleCase(profile.header),
    required,
    profile: profile.name,
    key: keyOf(profile),
    scope: [
      ...(ichido.published.sharedKeys && route.scope === undefined ? [] : scope),
      ...(profile.operationInIdentity ? ["operation"] : []),
      "key",
    ],
    compared: {
      parts: ["method", "target", "query", "media-type", "content"],
      content: fingerprint.compare === "bytes" ? "bytes" : "by-meaning",
      ...(fingerprint.fields === undefined ? {} : { fields: fingerprint.fields }),
    },
    retention: {
      duration: isoDuration(route.retentionMs),
      anchor: "first-request",
      extendedByReplays: false,
      afterwards: "runs-as-new",
    },
    lease: isoDuration(route.leaseMs),
    inFlight: typeof route.inFlight === "object" ? { waits: isoDuration(route.inFlight.waitMs) } : route.inFlight,
    responseBytesMax: route.bodyBytesMax,
    storedStatuses: { ...statusesOf(route.keep), createdReplayedAs: profile.replayCreatedAs },
    marker: { header: titleCase(profile.marker.name), value: profile.marker.value },
    errors: errorsOf(route as unknown as ResolvedRoute<never>, required, ichido.published.problemBase),
  };
}
