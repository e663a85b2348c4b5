/** What the built page was made from, in one hash: the test that looks for a stale page need not build it. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const app = join(import.meta.dirname, "..");
const root = join(app, "../..");

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** The page, what it has of the console and of the package's client, the buyer, and how it is built. */
export function sourceHash(): string {
  const files = [
    ...filesBelow(join(app, "src")),
    ...filesBelow(join(app, "build")),
    ...["index.html", "vite.config.ts", "package.json"].map((name) => join(app, name)),
    ...["i18n", "parts", "style"].flatMap((name) => filesBelow(join(root, "apps/console/src", name))),
    ...["amount.ts", "router.ts", "settings.ts", "time.ts"].map((name) => join(root, "apps/console/src", name)),
    ...filesBelow(join(root, "packages/ichido/src/client")).filter((path) => !path.endsWith(".test.ts")),
    ...["buyer.ts", "keyed-buyer.ts", "plain-buyer.ts", "contract.ts"].map((name) =>
      join(root, "apps/shop/src/playground", name),
    ),
  ].toSorted();
  const hash = createHash("sha256");
  for (const path of files) {
    const text = readFileSync(path);
    hash.update(`${path.slice(root.length)} ${text.length}\n`).update(text);
  }
  return hash.digest("hex");
}
