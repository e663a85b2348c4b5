/** JSON bodies: read, checked, and handed on as nothing but what was checked. */
import express, { type Request, type RequestHandler } from "express";
import { captureBody } from "ichido/express";
import { ShopError } from "./problems.ts";

export interface Fault {
  readonly member: string;
  readonly expected: string;
}

/** What the caller sent, if it can be right; otherwise every fault in it. */
export type Checked<Input> = { readonly input: Input } | { readonly faults: readonly Fault[] };

const BODY_BYTES_MAX = 64 * 1024;
const MEDIA_TYPES = ["application/json", "application/merge-patch+json"];

/** Before the key is looked at: a body that cannot be right must not use it up. */
export function jsonBody<Input>(check: (body: unknown) => Checked<Input>): RequestHandler[] {
  const validate: RequestHandler = (request, _response, next) => {
    const { body } = request as { readonly body: unknown };
    if (body === undefined && request.is(MEDIA_TYPES) === false) {
      throw new ShopError("unsupported-media-type", "send Content-Type: application/json");
    }
    const checked = check(body);
    if ("faults" in checked) throw new ShopError("validation", sentence(checked.faults), { faults: checked.faults });
    inputs.set(request, checked.input);
    next();
  };
  // `null` or `7` is valid JSON: not strict, so that `check` says what was expected instead.
  const parse = express.json({ limit: BODY_BYTES_MAX, type: MEDIA_TYPES, strict: false });
  return [captureBody() as RequestHandler, parse, validate];
}

const inputs = new WeakMap<object, unknown>();

/** What `check` let through. */
export function inputOf<Input>(request: Request): Input {
  return inputs.get(request) as Input;
}

function sentence(faults: readonly Fault[]): string {
  return faults.map(({ member, expected }) => `${member} must be ${expected}`).join("; ");
}
