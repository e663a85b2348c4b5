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
