/** Events as log lines: one object for each, in the words of the events, for a logger of pino's shape. */
import { errorType } from "./error-type.ts";
import { optionInvalid } from "./option-checks.ts";

type Write = (fields: Readonly<Record<string, unknown>>, message: string) => unknown;

/** What pino has, and most others too. */
export interface Logger {
  debug: Write;
  info: Write;
  warn: Write;
  error: Write;
}

export type LogLevel = keyof Logger;

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];

export function loggerOption(option: string, value: unknown): Logger {
  const logger = Object(value) as Partial<Logger>;
  if (levels.every((level) => typeof logger[level] === "function")) return value as Logger;
  throw optionInvalid(option, "a logger with debug, info, warn and error, such as pino()", value);
}

interface Told {
  readonly type: string;
  readonly message?: string;
  readonly error?: unknown;
}

/**
 * A listener that writes each event. Of an error only its type is written: its message may quote a key, a body or whatever
 * a driver or a handler put into it. Whoever wants that has `onEvent`.
 */
export function logsTo<Event extends Told>(
  logger: Logger,
  part: string,
  levelOf: (event: Event) => LogLevel,
): (event: Event) => void {
  return (event) => {
    const { type, message, error, ...words } = event;
    const fields = { part, event: type, ...words, ...(error === undefined ? {} : { errorType: errorType(error) }) };
    logger[levelOf(event)](fields, message ?? `${part}: ${type}`);
  };
}
