/** An empty database of its own for each test file, on a server that others use at the same time. */
import { fileURLToPath } from "node:url";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";
import { createDatabase, dropDatabase } from "../../scripts/services/database.ts";
import { uniqueName } from "./unique-name.ts";

export interface FreshDatabase {
  readonly url: string;
  readonly name: string;
  /** Idempotent; ends connections that are still open. */
  drop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** On PostgreSQL or MariaDB, whichever the address names. Dropped with the worker when a test forgets to. */
export async function freshDatabase(serverUrl: string): Promise<FreshDatabase> {
  const name = uniqueName("db");
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  const program = fileURLToPath(new URL("../../scripts/services/database.ts", import.meta.url));
  const will = reapAfterDeath({ run: [process.execPath, program, "drop", serverUrl, name] });
  await createDatabase(serverUrl, name);
  let dropped: Promise<void> | undefined;
  const drop = (): Promise<void> => {
    dropped ??= dropDatabase(serverUrl, name).then(() => will.forget());
    return dropped;
  };
  return { url: url.href, name, drop, [Symbol.asyncDispose]: drop };
}
