/** The link to the console in log lines: it holds a key, sealed by a secret that all processes on the same data have. */
import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { IchidoOptions } from "ichido";
import type { ShopConfig } from "./config.ts";

const SECRET_BYTES = 32;

/** Whoever comes first makes it; a link to a whole file, so that nobody reads half a secret. */
function secretIn(folder: string): string {
  const path = join(folder, "link-secret");
  mkdirSync(folder, { recursive: true });
  const mine = `${path}.${process.pid}`;
  writeFileSync(mine, randomBytes(SECRET_BYTES).toString("hex"), { mode: 0o600 });
  try {
    linkSync(mine, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(mine, { force: true });
  }
  return readFileSync(path, "utf8");
}

type Linked = Pick<IchidoOptions<never>, "consoleUrl" | "operationIdSecret">;

/** Several hosts on one database must be given the secret; without it their lines carry no link. */
export function consoleLink({ consoleUrl, consoleSecret, databaseUrl, dataFolder }: ShopConfig): Linked {
  const secret = consoleSecret ?? (databaseUrl === undefined ? secretIn(dataFolder) : undefined);
  if (secret === undefined) return {};
  return { operationIdSecret: secret, ...(consoleUrl !== undefined && { consoleUrl }) };
}
