import { isIchidoError } from "./errors.ts";

/** For metrics, logs and spans: a code or a class name, never the message, which may contain anything. */
export function errorType(error: unknown): string {
  if (isIchidoError(error)) return error.code;
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown };
  const word = typeof code === "string" && code !== "" ? code : name;
  return typeof word === "string" && /^[\w.-]{1,64}$/.test(word) ? word : "error";
}
