// `npm run bench -- stores/sqlite.ts [arguments]` runs one file below bench/; without a name it lists them.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [name, ...rest] = process.argv.slice(2);
if (name === undefined) {
  const files = readdirSync(join(root, "bench"), { recursive: true }).map(String);
  console.log(
    files
      .filter((file) => file.endsWith(".ts") && !/dist|measure/.test(file))
      .sort()
      .join("\n"),
  );
} else {
  const launch = join(root, "scripts", "launch.mjs");
  const { status } = spawnSync(process.execPath, ["--conditions=ichido-source", launch, join("bench", name), ...rest], {
    stdio: "inherit",
  });
  process.exitCode = status ?? 1;
}
