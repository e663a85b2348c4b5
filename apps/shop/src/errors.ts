/** A start that fails says why in one line per fault; only what nobody foresaw comes with a stack. */
import { ConfigError } from "./environment.ts";

/** Something outside the program is not as it must be, and the message says what to do. */
export class StartError extends Error {
  override readonly name = "StartError";
}

export function exitWithReason(program: string, error: unknown): never {
  for (const line of reasonsOf(error)) console.error(`${program}: ${line}`);
  process.exit(1);
}

function reasonsOf(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.faults;
  if (error instanceof StartError) return [error.message];
  return [textOf(error)];
}

export function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there; start the server, or correct the address",
  ENOTFOUND: "that host name is not known",
  EAI_AGAIN: "that host name cannot be looked up now",
  ETIMEDOUT: "it does not answer",
  EHOSTUNREACH: "no way leads to that host",
};

/** Why a server could not be used, in one line: drivers wrap the cause, some without a message of their own. */
export function reasonOf(error: unknown): string {
  const { code, message, cause, errors } = Object(error) as Readonly<Record<string, unknown>>;
  const known = typeof code === "string" ? REASONS[code] : undefined;
  if (known !== undefined) return known;
  const [inner] = Array.isArray(errors) ? (errors as readonly unknown[]) : [cause];
  if (inner !== undefined && inner !== null) return reasonOf(inner);
  const [line = ""] = (typeof message === "string" ? message : String(error)).split("\n");
  return line === "" ? "no reason was given" : line;
}
