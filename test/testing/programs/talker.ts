/** Prints what it is told; `crash` kills it through a crash point, `spawn` makes a child that prints its pid. */
import { createInterface } from "node:readline";
import { crashAt, faultsFromEnv, spawnChild } from "ichido/testing";

const faults = faultsFromEnv();
createInterface({ input: process.stdin }).on("line", (line) => void answer(line));
process.on("SIGTERM", () => {
  console.log("asked to end");
  if (process.env["STUBBORN"] === undefined) process.exit(0);
});

console.log(`ready ${process.argv.slice(2).join(" ")} ${process.env["GREETING"] ?? ""}`);

async function answer(line: string): Promise<void> {
  if (line === "claim") {
    await faults?.("before-claim");
    console.log("claimed");
    await faults?.("after-claim");
    console.log("still here");
  } else if (line === "die") {
    await crashAt("after-claim", "kill")("after-claim");
  } else if (line === "spawn") {
    const child = await spawnChild(new URL(import.meta.url), { readyPattern: /ready/ });
    console.log(`grandchild ${child.pid}`);
  } else if (line === "exit") {
    console.error("last words");
    process.exit(3);
  } else {
    console.log(`heard ${line}`);
  }
}
