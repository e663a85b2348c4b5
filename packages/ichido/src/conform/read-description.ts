/** Checks every member of a description that a person wrote: a misspelt one would silently leave cases out. */
import { nearestOf } from "../core/contract/nearest-name.ts";
import { profiles, type Profile } from "../core/contract/profiles.ts";
import type { Accepts, Description, RequestPart, Variants } from "./description.ts";

/** A description that cannot be used. */
export class DescriptionError extends Error {
  override readonly name: string = "DescriptionError";
}

function fail(what: string, expected: string, got: unknown): never {
  throw new DescriptionError(`${what}: expected ${expected}, got ${JSON.stringify(got)?.slice(0, 80) ?? "nothing"}`);
}

type Check = (what: string, value: unknown) => void;
type Members<Whole> = Readonly<Record<keyof Whole, Check>>;

function objectOf(what: string, value: unknown, expected = "an object"): Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) fail(what, expected, value);
  return value as Record<string, unknown>;
}

/** Checks that every given member is known and valid, and that every required one is given. */
function objectWith(
  needed: Readonly<Record<string, Check>>,
  others: Readonly<Record<string, Check>>,
  expected?: string,
): Check {
  const members = { ...others, ...needed };
  const names = Object.keys(members);
  return (what, value) => {
    const given = objectOf(what, value, expected);
    const at = (name: string): string => (what === "the description" ? name : `${what}.${name}`);
    for (const [name, check] of Object.entries(needed)) if (given[name] === undefined) check(at(name), undefined);
    for (const [name, member] of Object.entries(given)) {
      if (!Object.hasOwn(members, name)) {
        const nearest = nearestOf(name, names);
        const advice = nearest === undefined ? `known are ${names.join(", ")}` : `did you mean ${nearest}?`;
        throw new DescriptionError(`${at(name)}: there is no such member; ${advice}`);
      }
      if (member !== undefined) members[name]?.(at(name), member);
    }
  };
}

const anything: Check = () => undefined;

const oneOf =
  (...known: readonly unknown[]): Check =>
  (what, value) => {
    if (!known.includes(value)) fail(what, `one of ${known.map(String).join(", ")}`, value);
  };

const listOf =
  (check: Check, expected: string, lengthMin = 1): Check =>
  (what, value) => {
    if (!Array.isArray(value) || value.length < lengthMin) fail(what, expected, value);
    for (const [index, each] of value.entries()) check(`${what}[${index}]`, each);
  };

const matching =
  (expected: string, isRight: (value: never) => boolean, type: string = "string"): Check =>
  (what, value) => {
    if (typeof value !== type || !isRight(value as never)) fail(what, expected, value);
  };

const isHttp = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);

const text = matching("text", () => true);
const flag = matching("true or false", () => true, "boolean");
const address = matching("an http or https address", isHttp);
const place = matching(
  "an http or https address, or a path that begins with /",
  (at: string) => at.startsWith("/") || isHttp(at),
);
const path = matching("a path that begins with /", (at: string) => at.startsWith("/"));
const positive = matching("a positive number", (value: number) => value > 0, "number");
const status = matching("a status from 200 to 599", (value: number) => value >= 200 && value < 600, "number");
const origin = matching(
  "an origin such as https://app.example",
  (at: string) => isHttp(at) && new URL(at).origin === at,
);

const headers: Check = (what, value) => {
  const lines = Object.values(objectOf(what, value, "an object of strings"));
  if (lines.some((line) => typeof line !== "string")) fail(what, "an object of strings", value);
};

const part: Members<RequestPart> = {
  method: matching("a method in capitals", (method: string) => /^[A-Z]+$/.test(method)),
  path,
  headers,
  body: anything,
  content: text,
  status,
};

const request = objectWith({}, part);
const requestWithPath = objectWith({ path }, part);

const variants: Members<Variants> = {
  slow: objectWith({ ms: positive }, part),
  throws: request,
  throwsAfterEffect: request,
  invalid: request,
  declined: request,
  unprocessable: request,
  noContent: request,
  redirect: request,
  accepted: request,
  binary: request,
  streamed: request,
  large: request,
  cookies: request,
  exchange: request,
  expiring: objectWith({ ms: positive }, part),
  conditional: objectWith({ ifMatch: text, stale: text }, part),
};

const overrides: Members<Profile> = {
  name: text,
  header: matching("the name of a header, in lower case", (name: string) => /^[a-z0-9-]+$/.test(name)),
  keyForm: oneOf("lenient", "strict", "bare"),
  keyLengthMax: positive,
  keyPattern: oneOf("any", "uuid-v4"),
  keyCase: oneOf("exact", "lower"),
  mismatchStatus: status,
  inFlight: oneOf("conflict", "accepted"),
  replayCreatedAs: oneOf(200, 201),
  unknownStatus: oneOf(202, 409),
  marker: objectWith({ name: text, value: text }, {}, "an object of name and value"),
  operationInIdentity: flag,
  keepServerErrors: flag,
};

const twoOrigins: Check = (what, value) => {
  if (!Array.isArray(value) || value.length !== 2) fail(what, "a list of two origins", value);
  for (const [index, each] of value.entries()) origin(`${what}[${index}]`, each);
};

const accepted: readonly Accepts[] = ["any-json", "empty", "binary", "gzip", "form"];

const members: Members<Description> = {
  url: address,
  profile: oneOf(...Object.keys(profiles)),
  overrides: objectWith({}, overrides),
  keyRequired: flag,
  operation: requestWithPath,
  otherBody: anything,
  otherContent: text,
  accepts: listOf(oneOf(...accepted), `a list of ${accepted.join(", ")}`, 0),
  compare: oneOf("semantic", "bytes"),
  secondOperation: requestWithPath,
  optionalOperation: requestWithPath,
  principals: listOf(headers, "a list of header objects"),
  rotated: headers,
  refused: headers,
  shifted: listOf(
    objectWith({ headers, key: text }, {}, "an object of headers and key"),
    "a list of at least two objects of headers and key",
    2,
  ),
  effects: objectWith({ url: place }, { pointer: text, headers }, "an object with the url of the counter"),
  read: requestWithPath,
  cors: objectWith({ origins: twoOrigins }, {}, "an object with a list of two origins"),
  replicas: listOf(address, "a list of addresses"),
  policy: place,
  variants: objectWith({}, variants),
};

const whole = objectWith({ url: address, operation: requestWithPath }, members);

export function readDescription(value: unknown): Description {
  whole("the description", value);
  const description = value as Description;
  if (description.otherBody !== undefined && description.otherContent !== undefined) {
    throw new DescriptionError("otherContent: it stands in place of otherBody; give one of them");
  }
  return description;
}
