/** The document at `GET /.well-known/idempotency`: what a client may rely on, for people and programs. */
import { IchidoError } from "../core/contract/errors.ts";
import { durationMs } from "../client/policy.ts";
import { neverKeptHeaders } from "../core/engine/recorder.ts";
import {
  bareAlphabet,
  describeRoute,
  statusesOf,
  type DescribedEngine,
  type ErrorDescription,
  type KeyDescription,
  type OperationDescription,
  type PolicyOptions,
  type PublishedRoute,
  type RetentionDescription,
  type StatusesDescription,
} from "./described-route.ts";

/** What suits every operation. Routes for bare keys refuse quoted ones: where no form suits all, `form` is absent. */
export type CommonKey = Omit<KeyDescription, "form"> & Partial<Pick<KeyDescription, "form">>;

/** What a stored 201 is replayed as is absent where operations differ. */
export type CommonStatuses = Omit<StatusesDescription, "createdReplayedAs"> &
  Partial<Pick<StatusesDescription, "createdReplayedAs">>;

/**
 * The members before `operations` are true for every operation. Where operations differ, such a member has what suits
 * them all (the shortest retention, the narrowest key, what all of them store) or is absent. So a client that reads no
 * further is safe.
 */
export interface Policy {
  readonly version: 1;
  readonly header?: string;
  readonly key: CommonKey;
  readonly scope?: readonly string[];
  readonly retention: RetentionDescription;
  readonly storedStatuses: CommonStatuses;
  readonly marker?: { readonly header: string; readonly value: string };
  readonly headersNeverReplayed: readonly string[];
  readonly notStoredMarker: { readonly header: string; readonly value: string };
  readonly errors: readonly ErrorDescription[];
  readonly documentation?: string;
  readonly operations: readonly OperationDescription[];
}

export const policyPath = "/.well-known/idempotency";

/** The member, where it is the same in all. */
function common<Described extends object, Name extends keyof Described>(
  all: readonly Described[],
  name: Name,
): Pick<Described, Name> | undefined {
  const texts = new Set(all.map((each) => JSON.stringify(each[name])));
  const [first] = all;
  return texts.size === 1 && first !== undefined ? ({ [name]: first[name] } as Pick<Described, Name>) : undefined;
}

function keyForAll(keys: readonly KeyDescription[]): CommonKey {
  const narrowest =
    keys.find(({ format }) => format === "uuid-v4") ??
    keys.toSorted((some, other) => some.length.max - other.length.max)[0];
  if (narrowest === undefined) throw new IchidoError("option-invalid", "there is no route to publish a policy for");
  const forms = new Set(keys.map(({ form }) => form));
  const isLenient = forms.delete("lenient");
  const [form = "lenient"] = forms;
  const alphabet = forms.has("bare") && narrowest.format === "any" ? bareAlphabet(isLenient) : narrowest.alphabet;
  const { form: _own, ...rest } = narrowest;
  return {
    ...(forms.size > 1 ? {} : { form }),
    ...rest,
    alphabet,
    compared: keys.some(({ compared }) => compared === "lower-case") ? "lower-case" : "exact",
  };
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
  const resolved = routes.map((route) => ichido.route(route.options));
  const { docsUrl } = ichido.published;
  return {
    version: 1,
    ...common(operations, "header"),
    key,
    ...common(operations, "scope"),
    retention: shortest(operations),
    storedStatuses: {
      ...statusesOf((head) => resolved.every(({ keep }) => keep(head))),
      ...common(
        operations.map(({ storedStatuses }) => storedStatuses),
        "createdReplayedAs",
      ),
    },
    ...common(operations, "marker"),
    headersNeverReplayed: [...neverKeptHeaders],
    notStoredMarker: { header: "Idempotency-Stored", value: "false" },
    errors: eachErrorOnce(operations),
    ...(docsUrl === undefined ? {} : { documentation: docsUrl }),
    operations,
  };
}
