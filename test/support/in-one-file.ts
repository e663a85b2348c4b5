/**
 * A program of the tests with all that is ours of what it imports, in one file. To find and link some hundred and fifty
 * modules takes Node a seventh of a second of a core, every time; many programs are started to be killed a second later.
 */
import { mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";

const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));
const made = new Map<string, Promise<string>>();

/** The path of that file; made when it is asked for first, removed when this process ends. */
export function inOneFile(entry: URL): Promise<string> {
  let file = made.get(entry.href);
  if (file === undefined) made.set(entry.href, (file = make(fileURLToPath(entry))));
  return file;
}

/** Libraries run as they are installed: whether they work in a bundle is not what the tests ask. */
const librariesApart: Plugin = {
  name: "libraries apart",
  setup: (builder) =>
    builder.onResolve({ filter: /^[^./]/ }, ({ path }) =>
      /^ichido(\/|$)/.test(path) ? undefined : { path, external: true },
    ),
};

async function make(entry: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ichido-program-"));
  reapAfterDeath({ folder });
  symlinkSync(packages, join(folder, "node_modules"));
  const outfile = join(folder, `${basename(entry, ".ts")}.mjs`);
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "esnext",
    conditions: ["ichido-source"],
    plugins: [librariesApart],
    logLevel: "error",
  });
  return outfile;
}
