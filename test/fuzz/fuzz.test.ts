/** Hostile input of every kind, drawn from numbers: `npm run fuzz` tries more of it. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { memoryStore } from "ichido/memory";
import { describeWith } from "../support/services.ts";
import { floodRequest } from "./key-flood.ts";
import { runTarget, type Target } from "./target.ts";
import { targets } from "./targets.ts";

const timeout = 300_000;

function tried(target: Target, url: string): void {
  test(`${target.promise} (${target.name}, ${target.inputs} inputs)`, { timeout }, async () => {
    const { inputs, found } = await runTarget(target, { url });
    expect(found).toBeUndefined();
    expect(inputs).toBe(target.inputs);
  });
}

describe("hostile input", () => {
  for (const target of targets) if (target.needs === undefined) tried(target, "");
});
for (const target of targets) {
  if (target.needs !== undefined) describeWith(target.needs, "hostile rows", (url) => tried(target, url));
}

test("there are at least 200,000 inputs, under names of their own", () => {
  expect(targets.reduce((sum, { inputs }) => sum + inputs, 0)).toBeGreaterThanOrEqual(200_000);
  expect(new Set(targets.map(({ name }) => name)).size).toBe(targets.length);
});

test("the number of an input is all that is needed to try it again", async () => {
  const drawn: number[][] = [];
  const target: Target = {
    name: "numbers",
    promise: "",
    inputs: 3,
    open: () => ({ attempt: (random) => void drawn.push([random.next(), random.int(1, 1_000)]) }),
  };
  await runTarget(target, {});
  await runTarget(target, { from: 2, inputs: 1 });
  expect(drawn[3]).toEqual(drawn[1]);
  expect(drawn[0]).not.toEqual(drawn[1]);
  const broken = { ...target, open: () => ({ attempt: () => Promise.reject(new Error("no\nsuch")) }) };
  expect(await runTarget(broken, { from: 7 })).toEqual({
    inputs: 1,
    found: { seed: 7, detail: "threw Error: no\\nsuch" },
  });
});

test("the command that is kept of a run is the one that was given", { timeout }, () => {
  const folder = mkdtempSync(join(tmpdir(), "ichido-fuzz-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "run.json");
  const given = ["--target", "stored-texts", "--inputs", "2", "--from", "7"];
  const program = new URL("./main.ts", import.meta.url).pathname;
  const { status } = spawnSync(process.execPath, ["--conditions=ichido-source", program, ...given, "--json", file]);
  expect(status).toBe(0);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
    command: `npm run fuzz -- ${given.join(" ")}`,
    what: "stored-texts",
    tried: 2,
  });
});

test("S4 S14 a hundred thousand keys of one caller fill its share, and nobody else's", { timeout }, async () => {
  const store = memoryStore();
  const early = floodRequest("alice", "before the flood");
  expect((await store.claim(early)).outcome).toBe("granted");
  const outcomes: Record<string, number> = {};
  for (let number = 0; number < 100_000; number += 1) {
    const { outcome } = await store.claim(floodRequest("flooder", `key-${number}`));
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  expect(outcomes).toEqual({ granted: 50_000, quota: 50_000 });
  expect((await store.claim({ ...early, owner: floodRequest("bob", "").owner })).outcome).toBe("processing");
  expect((await store.claim(floodRequest("bob", "after the flood"))).outcome).toBe("granted");
  expect((await store.claim(floodRequest("flooder", "key-0"))).outcome).toBe("granted");
  expect((await store.stats()).records).toBe(50_002);
});
