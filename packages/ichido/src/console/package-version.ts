import { readFileSync } from "node:fs";

let found: string | undefined;

/** Empty where the package was bundled: its manifest is not beside it then. */
export function packageVersion(): string {
  try {
    found ??= (JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as { version: string })
      .version;
  } catch {
    found = "";
  }
  return found;
}
