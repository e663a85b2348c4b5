/** The tests of one room, as Stryker runs them, on its copy of the repository. */
import { readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { roomVariable, rooms } from "./rooms.ts";

const room = rooms[process.env[roomVariable] ?? ""];
if (room === undefined) throw new RangeError(`${roomVariable}: expected one of ${Object.keys(rooms).join(", ")}`);

const conditions = ["ichido-source", "node"];
const folder = new URL("../../packages/ichido/", import.meta.url);
const { exports: entries } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8")) as {
  readonly exports: Readonly<Record<string, { readonly "ichido-source"?: string } | string>>;
};

/** `node_modules` is not copied: by name, `ichido` would be the source that is not mutated. */
const alias = Object.entries(entries).flatMap(([name, entry]) => {
  const path = typeof entry === "string" ? undefined : entry["ichido-source"];
  if (path === undefined) return [];
  return [{ find: new RegExp(`^ichido${name.slice(1)}$`), replacement: new URL(path, folder).pathname }];
});

/**
 * Stryker chooses tests by their names and puts a space between suite and test, Vitest 5 puts ` > `. Without this no test of
 * a suite would be chosen, and every mutant would seem to survive.
 */
const names: Plugin = {
  name: "names-as-stryker-writes-them",
  configureVitest({ vitest }) {
    const start = vitest.start.bind(vitest);
    vitest.start = (filters) => {
      for (const { config } of vitest.projects) {
        const pattern = config.testNamePattern;
        if (pattern !== undefined) config.testNamePattern = new RegExp(pattern.source.replaceAll(" ", "(?: > | )"));
      }
      return start(filters);
    };
  },
};

/** A run ends with the first test that fails: those beside the source take milliseconds, those over sockets seconds. */
class QuickFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rest = await super.sort(files);
    const isSlow = ({ moduleId }: TestSpecification): number => Number(!moduleId.includes("/src/"));
    return rest.toSorted((one, other) => isSlow(one) - isSlow(other));
  }
}

export default defineConfig({
  plugins: [names],
  ssr: { resolve: { conditions } },
  resolve: { alias, conditions },
  test: { include: [...room.tests], isolate: false, testTimeout: 20_000, sequence: { sequencer: QuickFirst } },
});
