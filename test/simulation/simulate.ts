/** The simulation in a process of its own: it takes over the clocks and timers of the process it runs in. */
import { spawn } from "node:child_process";
import { expect } from "vitest";

export async function simulate(...args: readonly (string | number)[]): Promise<string> {
  const flags = ["--conditions=ichido-source", "--disable-warning=ExperimentalWarning"];
  const child = spawn(process.execPath, [...flags, "simulation/main.ts", "--quiet", ...args.map(String)]);
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (err += text));
  await new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
  expect(err).toBe("");
  return out;
}
