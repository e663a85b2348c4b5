/** Builds a library that is preloaded into a process, with the system's C compiler; installs one where root may. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { installRefusal } from "../../scripts/services/install.ts";

const installMs = 300_000;

export type Shim = { readonly library: string; readonly folder: string } | { readonly reason: string };

function run(program: string, args: readonly string[]): { readonly ok: boolean; readonly text: string } {
  const done = spawnSync(program, args, {
    encoding: "utf8",
    timeout: installMs,
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" },
  });
  return {
    ok: done.status === 0,
    text: done.error === undefined ? `${done.stdout}${done.stderr}` : done.error.message,
  };
}

/** `source`: the C file. */
export function buildShim(source = new URL("power-cut-shim.c", import.meta.url)): Shim {
  if (process.platform !== "linux") return { reason: `the library is for Linux, this is ${process.platform}` };
  const folder = mkdtempSync(join(tmpdir(), "ichido-shim-"));
  const shim = buildIn(folder, fileURLToPath(source));
  if ("reason" in shim) rmSync(folder, { recursive: true });
  return shim;
}

function buildIn(folder: string, source: string): Shim {
  const library = join(folder, `${basename(source, ".c")}.so`);
  const compile = () => run("cc", ["-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", library, source, "-lpthread"]);
  let built = compile();
  if (!built.ok && !run("cc", ["--version"]).ok) {
    const refusal = installRefusal();
    if (refusal !== undefined) return { reason: `no C compiler (cc), and ${refusal}` };
    console.log("installing a C compiler with apt-get (ICHIDO_NO_INSTALL=1 turns this off)");
    run("apt-get", ["-o", "DPkg::Lock::Timeout=120", "update", "-q"]);
    const args = ["install", "-q", "-y", "--no-install-recommends", "gcc", "libc6-dev"];
    const installed = run("apt-get", ["-o", "DPkg::Lock::Timeout=120", ...args]);
    if (!installed.ok) return { reason: `no C compiler, and apt-get failed: ${installed.text.slice(-500)}` };
    built = compile();
  }
  return built.ok ? { library, folder } : { reason: `the library does not compile: ${built.text}` };
}
