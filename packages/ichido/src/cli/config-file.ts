/** Finds `ichido.config.*` of the project that a command is called in, and loads it. */
import { existsSync } from "node:fs";
import { dirname, extname, isAbsolute, join } from "node:path";
import { pathToFileURL } from "node:url";
import { isIchidoError } from "../core/contract/errors.ts";
import type { ConfigExport, IchidoConfig } from "./config.ts";
import { checkConfig } from "./config-check.ts";
import { CommandError, UsageError } from "./exit-codes.ts";

export const configNames = ["ichido.config.ts", "ichido.config.mts", "ichido.config.js", "ichido.config.mjs"] as const;

const foldersMax = 64;

/**
 * In this folder or above it, up to the nearest `package.json`: a file beyond the project may be anybody's, and loading it
 * runs it.
 */
export function findConfig(cwd: string): string | undefined {
  const looked: string[] = [];
  let folder = cwd;
  for (let depth = 0; depth < foldersMax; depth += 1) {
    looked.push(folder);
    if (existsSync(join(folder, "package.json"))) {
      return looked.flatMap((each) => configNames.map((name) => join(each, name))).find((path) => existsSync(path));
    }
    if (dirname(folder) === folder) break;
    folder = dirname(folder);
  }
  return configNames.map((name) => join(cwd, name)).find((path) => existsSync(path));
}

/** Node runs TypeScript by leaving its types out, unless it is too old or was told not to. */
export function refuseTypescript(file: string, features: { readonly typescript?: unknown } = process.features): void {
  const { typescript = false } = features;
  if (!/^\.m?ts$/.test(extname(file)) || typescript !== false) return;
  throw new CommandError(
    "error",
    `${file}: this Node.js (${process.version}) does not run TypeScript; use 22.18 or newer without --no-strip-types, or write ` +
      "ichido.config.mjs",
  );
}

function isAbsent(error: unknown, file: string): boolean {
  const { code, message } = Object(error) as { readonly code?: unknown; readonly message?: unknown };
  return code === "ERR_MODULE_NOT_FOUND" && String(message).includes(`'${file}'`);
}

export async function loadConfig(given: string, cwd: string): Promise<IchidoConfig> {
  const file = isAbsolute(given) ? given : join(cwd, given);
  if (!existsSync(file)) throw new UsageError(`the configuration ${given} is not there`);
  refuseTypescript(file);
  try {
    const loaded = (await import(pathToFileURL(file).href)) as { readonly default?: ConfigExport };
    const exported = loaded.default;
    if (exported === undefined)
      throw new CommandError("error", "it has no default export: export default defineConfig({ ichido })");
    return checkConfig(await (typeof exported === "function" ? exported() : exported));
  } catch (error) {
    if (isAbsent(error, file)) throw new UsageError(`the configuration ${given} is not there`);
    if (isIchidoError(error) && error.retryable) throw error;
    const what = error instanceof Error ? error.message : String(error);
    throw new CommandError("error", `${given} cannot be loaded: ${what}`, { cause: error });
  }
}
