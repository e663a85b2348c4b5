/**
 * `npm run proof:mutation [-- ROOM …]`: Stryker changes one thing after the other in the source, and the tests must notice. Tells
 * the share that was noticed, file by file, and what was not.
 */
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { linesVariable } from "../test/mutation/result-lines.ts";
import { roomVariable, rooms, type Room } from "../test/mutation/rooms.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    concurrency: { type: "string" },
    /** Only these files of the room. */
    mutate: { type: "string", multiple: true },
    /** Takes over what an earlier run found where neither the source nor its tests have changed. */
    incremental: { type: "boolean", default: false },
    /** Leaves out what shows only while a file is loaded: each of those needs a process of its own. */
    "ignore-static": { type: "boolean", default: false },
  },
});

async function mutate(name: string, room: Room): Promise<void> {
  process.env[roomVariable] = name;
  const folder = join(tmpdir(), "ichido-mutation", name);
  mkdirSync(folder, { recursive: true });
  const lines = join(folder, "results.jsonl");
  rmSync(lines, { force: true });
  process.env[linesVariable] = lines;
  await new Stryker({
    mutate: [...(values.mutate ?? room.mutate), "!**/*.test.ts"],
    testRunner: "in-process",
    plugins: ["in-process-runner", "result-lines"].map((name) =>
      fileURLToPath(new URL(`../test/mutation/${name}.ts`, import.meta.url)),
    ),
    testRunnerNodeArgs: ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"],
    coverageAnalysis: "perTest",
    concurrency: Number(values.concurrency ?? 2),
    // Below it the process ends with status 1.
    thresholds: { high: 100, low: room.scoreMin, break: room.scoreMin },
    reporters: ["progress-append-only", "clear-text", "json", "result-lines"],
    jsonReporter: { fileName: join(folder, "report.json") },
    incremental: values.incremental,
    ignoreStatic: values["ignore-static"],
    incrementalFile: join(folder, "incremental.json"),
    tempDirName: join(folder, "copy"),
    // For a loop that never ends: much longer than all tests of a room together.
    timeoutMS: 20_000,
    // TypeScript 7 has no interface for programs, by which Stryker would read it; Vitest does not need it.
    tsconfigFile: "none",
    disableTypeChecks: false,
    allowConsoleColors: false,
  }).runMutationTest();
}

for (const name of positionals.length > 0 ? positionals : Object.keys(rooms)) {
  const room = rooms[name];
  if (room === undefined) throw new RangeError(`expected ${Object.keys(rooms).join(", ")}, got ${name}`);
  await mutate(name, room);
}
