/** Values that can be stored and given back unchanged: plain JSON. */
import { IchidoError } from "./errors.ts";

const depthMax = 200;

function refuse(path: string, what: string): IchidoError {
  return new IchidoError(
    "value-not-serialisable",
    `${path} is ${what}, which cannot be stored and given back unchanged; return plain JSON (strings, finite numbers, ` +
      "booleans, null, arrays and plain objects), for example a date as an ISO string",
  );
}

function check(value: unknown, path: string, depth: number): void {
  if (depth > depthMax) throw refuse(path, `nested deeper than ${depthMax} levels or part of a cycle`);
  if (value === null || typeof value === "string" || typeof value === "boolean") return;
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw refuse(path, String(value));
    return;
  }
  if (typeof value !== "object") throw refuse(path, `a ${typeof value}`);
  if (Array.isArray(value)) {
    value.forEach((each, index) => check(each, `${path}[${index}]`, depth + 1));
    return;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    throw refuse(path, `a ${(value as object).constructor?.name ?? "class instance"}`);
  }
  for (const [name, each] of Object.entries(value)) {
    if (each !== undefined) check(each, `${path}.${name}`, depth + 1);
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });
const nothing = new Uint8Array(0);

/** No bytes stand for `undefined`; members that are undefined are left out, as JSON does. */
export function encodeValue(value: unknown, name = "the value"): Uint8Array {
  if (value === undefined) return nothing;
  check(value, name, 0);
  return encoder.encode(JSON.stringify(value));
}

export function decodeValue(bytes: Uint8Array): unknown {
  return bytes.length === 0 ? undefined : (JSON.parse(decoder.decode(bytes)) as unknown);
}
