/** A server in a process of its own: `server.ts <file in servers/> <store> <url>`; it answers what the bench asks. */
import { AllocationMeter } from "./meter.ts";
import type { ServerAsk, Spent, Start } from "./contract.ts";

const [, , file = "", store = "", url = ""] = process.argv;
const { start } = (await import(`./servers/${file}.ts`)) as { start: Start };
const running = await start({ store, url });

let meter: AllocationMeter | undefined;
let cpu = process.cpuUsage();

function end(): Spent {
  const { user, system } = process.cpuUsage(cpu);
  const allocatedBytes = meter?.stop() ?? 0;
  meter = undefined;
  return { cpuUs: user + system, allocatedBytes, residentBytes: process.memoryUsage.rss() };
}

/** What is kept once nothing is left to collect, Buffers included. */
function heap(): number {
  for (let time = 0; time < 3; time += 1) globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

process.on("message", (ask: ServerAsk) => {
  if (ask === "begin") {
    meter = new AllocationMeter();
    cpu = process.cpuUsage();
    process.send?.({ value: "begun" });
  } else if (ask === "end") process.send?.({ value: end() });
  else if (ask === "heap") process.send?.({ value: heap() });
  else void Promise.resolve(running.close()).then(() => process.send?.({ value: "closed" }));
});
process.on("disconnect", () => process.exit());
process.send?.({ value: running.port });
