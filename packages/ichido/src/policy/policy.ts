/** The document at `GET /.well-known/idempotency`: what a client may rely on, for people and programs. */
import { IchidoError } from "../core/errors.ts";
import { durationMs } from "../client/policy.ts";
import { neverKeptHeaders } from "../core/recorder.ts";
import {
  describeRoute,
  type DescribedEngine,
  type ErrorDescription,
  type KeyDescription,
  type OperationDescription,
  type PolicyOptions,
  type PublishedRoute,
  type RetentionDescription,
  type StatusesDescription,
} from "./described-route.ts";

/**
 * The upper half is true of every operation listed: where they differ it says what suits them all (the shortest
 * retention, the narrowest key), so that a client which reads no further is on the safe side.
 */
export interface Policy {
  readonly version: 1;
  readonly header: string;
  readonly key: KeyDescription;
  readonly scope: readonly string[];
  readonly retention: RetentionDescription;
  readonly storedStatuses: StatusesDescription;
  readonly marker: { readonly header: string; readonly value: string };
  readonly headersNeverReplayed: readonly string[];
  readonly notStoredMarker: { readonly header: string; readonly value: string };
  readonly errors: readonly ErrorDescription[];
  readonly documentation?: string;
  readonly operations: readonly OperationDescription[];
}

export const policyPath = "/.well-known/idempotency";

function keyForAll(keys: readonly KeyDescription[]): KeyDescription {
  const narrowest =
    keys.find(({ format }) => format === "uuid-v4") ??
    keys.toSorted((some, other) => some.length.max - other.length.max)[0];
  if (narrowest === undefined) throw new IchidoError("option-invalid", "there is no route to publish a policy for");
  // A quoted key is taken by strict and by lenient routes.
  const strict = keys.find(({ form }) => form === "strict");
  return strict === undefined ? narrowest : { ...narrowest, form: strict.form };
}

function shortest(operations: readonly OperationDescription[]): RetentionDescription {
  const [first, ...rest] = operations.map(({ retention }) => retention);
  const length = ({ duration }: RetentionDescription): number => durationMs(duration) ?? 0;
  return rest.reduce((some, other) => (length(other) < length(some) ? other : some), first as RetentionDescription);
}

function eachErrorOnce(operations: readonly OperationDescription[]): readonly ErrorDescription[] {
  const errors = new Map(
    operations.flatMap((each) => each.errors).map((error) => [`${error.code} ${error.status}`, error]),
  );
  return [...errors.values()];
}

export function policyOf<Native>(
  ichido: DescribedEngine<Native>,
  routes: readonly PublishedRoute<Native>[],
  options: PolicyOptions = {},
): Policy {
  const operations = routes.map((route) => describeRoute(ichido, route, options));
  const key = keyForAll(operations.map((operation) => operation.key));
  const first = operations[0] as OperationDescription;
  const { docsUrl } = ichido.published;
  return {
    version: 1,
    header: first.header,
    key,
    scope: first.scope,
    retention: shortest(operations),
    storedStatuses: first.storedStatuses,
    marker: first.marker,
    headersNeverReplayed: [...neverKeptHeaders],
    notStoredMarker: { header: "Idempotency-Stored", value: "false" },
    errors: eachErrorOnce(operations),
    ...(docsUrl === undefined ? {} : { documentation: docsUrl }),
    operations,
  };
}
