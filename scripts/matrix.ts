/**
 * The tests on every supported line of Node: `npm run test:matrix`, or with versions of one's own (`npm run test:matrix
 * -- 22.18.0`). Each Node comes from npm and is used from its cache; nothing is installed.
 */
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const supported = ["22.18.0", "22", "24", "26"];

function run(version: string, args: readonly string[]): Promise<number | null> {
  const vitest = join(root, "node_modules", "vitest", "vitest.mjs");
  const nodePackage = `node-${process.platform}-${process.arch}@${version}`;
  const child = spawn(
    "npx",
    ["--yes", "--package", nodePackage, "node", "--conditions=ichido-source", vitest, "run", ...args],
    {
      // Outside the checkout npx would not find its own Node first: a local node_modules/.bin wins over the package asked for.
      cwd: dirname(root),
      stdio: "inherit",
      env: { ...process.env, npm_config_min_release_age: "0" },
    },
  );
  return new Promise((resolve) => {
    child.once("error", () => resolve(1));
    child.once("close", resolve);
  });
}

const given = process.argv.slice(2);
const versions = given.filter((argument) => /^\d+(\.\d+)*$/.test(argument));
const forVitest = given.filter((argument) => !versions.includes(argument));
let failed = 0;
for (const version of versions.length > 0 ? versions : supported) {
  console.log(`\n--- Node ${version} ---`);
  const code = await run(version, ["--root", root, ...forVitest]);
  if (code !== 0) failed += 1;
  console.log(`Node ${version}: ${code === 0 ? "passed" : "FAILED"}`);
}
process.exitCode = failed > 0 ? 1 : 0;
