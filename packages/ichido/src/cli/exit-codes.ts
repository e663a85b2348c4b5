/** What a script learns from a command that ended, and the errors that end one. */
import { isIchidoError, type IchidoErrorCode } from "../core/contract/errors.ts";

export const exitCodes = {
  /** Done; nothing to worry about. */
  ok: 0,
  error: 1,
  usage: 2,
  /** The command worked, and what it found needs a person. */
  finding: 3,
  notFound: 4,
  /** A guard said no: the record changed meanwhile, an owner is at work, a provider has the effect. */
  refused: 5,
  /** The store or a probe does not answer. */
  unreachable: 6,
  interrupted: 130,
} as const;

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

/** Ends a command with a message and a code of its own. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  readonly exitCode: ExitCode;
  /** For programs that read `--json`. */
  readonly code: string;

  constructor(code: Exclude<keyof typeof exitCodes, "ok">, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.exitCode = exitCodes[code];
  }
}

/** Wrong usage: the message is shown with a pointer to `--help`. */
export class UsageError extends CommandError {
  override readonly name: string = "UsageError";
  constructor(message: string) {
    super("usage", message);
  }
}

export const notFound = (message: string): CommandError => new CommandError("notFound", message);
export const refused = (message: string): CommandError => new CommandError("refused", message);
export const unreachable = (message: string, cause?: unknown): CommandError =>
  new CommandError("unreachable", message, { cause });

const awayCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EPIPE",
  // What drivers call it.
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
]);
const unavailable: ReadonlySet<IchidoErrorCode> = new Set(["store-unavailable", "commit-failed"]);
const causesMax = 8;

/** The error and what caused it, outermost first. */
function* causesOf(error: unknown): Iterable<{ readonly code?: unknown; readonly message?: unknown }> {
  let each = error;
  for (let depth = 0; depth < causesMax && typeof each === "object" && each !== null; depth += 1) {
    yield each as { readonly code?: unknown };
    each = each instanceof AggregateError ? each.errors[0] : (each as { readonly cause?: unknown }).cause;
  }
}

function isAway(error: unknown): boolean {
  for (const { code } of causesOf(error)) if (typeof code === "string" && awayCodes.has(code)) return true;
  return isIchidoError(error) && unavailable.has(error.code);
}

/** `parseArgs` marks wrong options by an error code of its own. */
function isWrongArgument(error: unknown): boolean {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === "string" && code.startsWith("ERR_PARSE_ARGS_");
}

export interface Ending {
  readonly exitCode: ExitCode;
  readonly code: string;
  readonly message: string;
}

/** One line for a person: the message, and the driver's own reason where ours does not tell it. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const said = [error.message];
  for (const { message, code } of causesOf(error.cause)) {
    const text = typeof message === "string" && message !== "" ? message : typeof code === "string" ? code : "";
    if (text !== "" && !said.some((each) => each.includes(text))) said.push(text);
  }
  return said.filter((each) => each !== "").join(": ");
}

export function endingOf(error: unknown): Ending {
  const message = messageOf(error);
  if (error instanceof CommandError) return { exitCode: error.exitCode, code: error.code, message };
  if (isWrongArgument(error)) {
    // Node adds a second sentence of advice that is about its own API.
    return { exitCode: exitCodes.usage, code: "usage", message: message.split(". To specify")[0] ?? message };
  }
  const code = isIchidoError(error) ? error.code : "error";
  return { exitCode: isAway(error) ? exitCodes.unreachable : exitCodes.error, code, message };
}
