/** What a command is, and what it may touch: data goes to `out`, everything else to `err`. */
export interface Io {
  out(text: string): void;
  err(text: string): void;
}

/** 0 success, 1 failure, 2 wrong usage. A command may have more codes; its usage lists them. */
export type ExitCode = number;

export interface Command {
  /** One line, for the list of commands. */
  readonly summary: string;
  readonly usage: string;
  run(args: readonly string[], io: Io): Promise<ExitCode>;
}

/** Wrong usage: the message is shown with a pointer to `--help`, and the exit code is 2. */
export class UsageError extends Error {
  override readonly name: string = "UsageError";
}
