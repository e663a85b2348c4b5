/** What a caller may say of a user: a name, and whatever else they like. */
import type { Checked, Fault } from "../http/json-body.ts";
import { isObject, isText } from "../input.ts";
import type { UserDocument } from "./user.ts";

const NAME_CHARACTERS_MAX = 200;
const nameFault: Fault = { member: "name", expected: `a string of 1 to ${NAME_CHARACTERS_MAX} characters` };
const bodyFault: Fault = { member: "the body", expected: "a JSON object" };
/** Deeper ones could be read, and then not be written: JSON.stringify gives up sooner than JSON.parse. */
const LEVELS_MAX = 100;
const depthFault: Fault = { member: "the body", expected: `nested at most ${LEVELS_MAX} levels deep` };

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}

/** The path says who it is. */
function withoutId(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(body).filter(([member]) => member !== "userId"));
}

export function checkUser(body: unknown): Checked<UserDocument> {
  if (!isObject(body)) return { faults: [bodyFault] };
  if (isDeeper(body, LEVELS_MAX)) return { faults: [depthFault] };
  return isText(body.name, NAME_CHARACTERS_MAX) ? { input: withoutId(body) as UserDocument } : { faults: [nameFault] };
}

export function checkUserPatch(body: unknown): Checked<Readonly<Record<string, unknown>>> {
  if (!isObject(body)) return { faults: [bodyFault] };
  if (isDeeper(body, LEVELS_MAX)) return { faults: [depthFault] };
  // A user keeps a name: it cannot be removed either.
  return body.name === undefined || isText(body.name, NAME_CHARACTERS_MAX)
    ? { input: withoutId(body) }
    : { faults: [nameFault] };
}
