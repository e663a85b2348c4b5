/**
 * Loads whatever a shop and a bank may load, and ends. Node writes what it compiled into NODE_COMPILE_CACHE at the end of a
 * process that ends by itself; the shops of tests are killed, and would compile the same files again and again.
 */
import { globSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const source = join(dirname(fileURLToPath(import.meta.url)), "../../src");
/** Programs of their own, which would go on. */
const programs = [
  "**/main.ts",
  "playground/lane/protected.ts",
  "playground/lane/unprotected.ts",
  "playground/redis/keeper.ts",
];
const files = globSync("**/*.ts", { cwd: source, exclude: programs });
await Promise.all(files.map((file) => import(pathToFileURL(join(source, file)).href)));
