import { strict as assert } from "node:assert";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createIchido } from "ichido";
import { openSqliteStore } from "ichido/sqlite";
import { everyCrashPoint, faultsFromEnv, spawnChild, type CrashRun } from "ichido/testing";

const leaseMs = 1000; // short: who asks again waits for it

// The server. The bank is a folder: a file for each reference that it has charged.
async function payOnce(folder: string) {
  const store = await openSqliteStore(join(folder, "keys.db"), { migrate: true });
  const faults = faultsFromEnv(); // where the test wants this process dead
  const ichido = createIchido({
    store,
    leaseMs,
    scope: () => ({ tenant: "t" }),
    onUnknown: "rerun",
    onEvent: () => undefined,
    ...(faults && { faults }),
  });
  const request = { operation: "pay", scope: { tenant: "t" }, key: "k-1", input: { amount: 1200 } };
  await ichido.run(request, (ctx) =>
    ctx.step("charge", ({ reference }) => writeFileSync(join(folder, "bank", reference), "1200")),
  );
  await ichido.close();
  await store.close();
}

async function scenario({ env }: CrashRun) {
  const folder = mkdtempSync(join(tmpdir(), "killed-"));
  try {
    mkdirSync(join(folder, "bank"));
    const ask = async (env: Readonly<Record<string, string>>) =>
      (await spawnChild(import.meta.filename, { args: [folder], env })).exited;
    const first = await ask(env);
    await sleep(leaseMs + 100);
    const second = await ask({}); // has to answer
    return {
      killed: first.signal === "SIGKILL",
      answered: second.code === 0,
      charges: readdirSync(join(folder, "bank")),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const [folder] = process.argv.slice(2);
if (folder !== undefined) await payOnce(folder);
else {
  const { matrix } = await everyCrashPoint(
    scenario,
    ({ killed, answered, charges }, { point }) => {
      assert.equal(killed, point !== undefined, "killed at the point");
      assert.ok(answered, "the second process answered");
      assert.equal(charges.length, 1, `charged ${charges.length} times`);
    },
    { points: ["after-claim", "before-step-finish", "after-complete"] },
  );
  console.log(matrix);
}
