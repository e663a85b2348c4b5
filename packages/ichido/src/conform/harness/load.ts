import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Loads from the working directory, since the user installs the framework; else from where this package is. */
export async function loadFromHere(name: string): Promise<unknown> {
  let found: string;
  try {
    found = pathToFileURL(createRequire(join(process.cwd(), "package.json")).resolve(name)).href;
  } catch {
    found = name;
  }
  try {
    return await import(found);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new Error(`${name} is not installed here; install it and try again`, { cause: error });
  }
}
