/** Server actions (Next.js and other React servers): functions that get a form and return a value. */
import { functionOption, knownOptions, optionInvalid } from "../core/contract/option-checks.ts";
import { createHash } from "node:crypto";
import type { Context } from "../core/contract/context.ts";
import type { Ichido } from "../core/engine/create-ichido.ts";
import { IchidoError } from "../core/contract/errors.ts";
import type { ScopeLike } from "../core/contract/record.ts";
import type { RunRequest } from "../core/engine/run.ts";
import { keyFieldDefault } from "../http/form-key.ts";

export interface ActionOptions extends Omit<RunRequest, "scope" | "key" | "input" | "labels"> {
  /** Whose key it is: from the session, never from the form. */
  readonly scope: (form: FormData) => ScopeLike | Promise<ScopeLike>;
  /** The hidden field with the key. Default `idempotencyKey`, as `IdempotencyField` of `ichido/react` renders it. */
  readonly keyField?: string;
}

export type FormAction<Value> = (form: FormData, idempotency: Context) => Value | Promise<Value>;

function keyOf(form: FormData, field: string, operation: string): string {
  const [value, ...more] = form.getAll(field);
  if (value === undefined) {
    throw new IchidoError(
      "idempotency-key-required",
      `${operation}: the form has no field ${JSON.stringify(field)}; render <IdempotencyField /> inside the form`,
    );
  }
  if (value === "") {
    throw new IchidoError(
      "idempotency-key-invalid",
      `${operation}: the field ${JSON.stringify(field)} is empty: the form was sent before the page's script ran; ` +
        "give <IdempotencyField defaultValue={…} /> a key that is made for the request",
    );
  }
  if (typeof value === "string" && more.length === 0) return value;
  throw new IchidoError(
    "idempotency-key-invalid",
    `${operation}: the field ${JSON.stringify(field)} must be there once, as text`,
  );
}

async function contentOf(value: FormDataEntryValue): Promise<unknown> {
  if (typeof value === "string") return value;
  const hash = createHash("sha256");
  for await (const chunk of value.stream() as unknown as AsyncIterable<Uint8Array>) hash.update(chunk);
  return { name: value.name, type: value.type, sha256: hash.digest("hex") };
}

/** Submissions are the same when all other fields are equal: ordered by name, fields of one name in the order sent. */
async function inputOf(form: FormData, keyField: string): Promise<unknown> {
  const fields: [name: string, content: unknown][] = [];
  for (const [name, value] of form) if (name !== keyField) fields.push([name, await contentOf(value)]);
  return fields.sort(([one], [other]) => (one === other ? 0 : one < other ? -1 : 1));
}

/**
 * An action that runs once per submission of a form, however often it is sent: the second time its value is given back.
 * The value must be plain JSON. Call what throws for the framework (`redirect()`) around the action, not inside. With
 * `useActionState`: `(_state, form) => pay(form)`.
 */
export function idempotentAction<Value>(
  ichido: Pick<Ichido<never>, "run" | "route">,
  options: ActionOptions,
  action: FormAction<Value>,
): (form: FormData) => Promise<Value> {
  knownOptions("idempotentAction", options, {
    operation: true,
    scope: true,
    keyField: true,
    onUnknown: true,
    leaseMs: true,
    retentionMs: true,
    inFlight: true,
  });
  const { scope, keyField = keyFieldDefault, ...request } = options;
  const { operation } = request;
  functionOption("scope", scope, "a function of the form");
  if (keyField === "") throw optionInvalid("keyField", "the name of a field", keyField);
  // A bad option stops the start, not the first submission.
  ichido.route(request);
  return async (form) => {
    if (!(form instanceof FormData)) {
      throw new IchidoError(
        "usage-invalid",
        `${operation}: expected the form's FormData; with useActionState pass the second argument on`,
      );
    }
    const key = keyOf(form, keyField, operation);
    const input = await inputOf(form, keyField);
    const { value } = await ichido.run({ ...request, scope: await scope(form), key, input }, (context) =>
      action(form, context),
    );
    return value;
  };
}
