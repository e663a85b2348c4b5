/** What every process of the fleet does: it tells what is under way, obeys orders, and ends when it is told to. */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import type { Side } from "../sides/side.ts";

const tellMs = 20;

/** Faults that a process makes itself last until it is calm. */
export const weather = { isCalm: false, isResting: false };

let underWay = 0;

/** A call that whoever strikes may hit. */
export async function call<Value>(work: () => Promise<Value>): Promise<Value> {
  underWay += 1;
  try {
    return await work();
  } finally {
    underWay -= 1;
  }
}

export const saw = (sight: string): void => console.log(`saw ${sight}`);

const orders: Readonly<Record<string, (value: string) => void>> = {
  /** Nothing else runs meanwhile: no answer, no heartbeat, no timer. */
  block(ms) {
    const untilMs = performance.now() + Number(ms);
    while (performance.now() < untilMs);
  },
  calm: () => (weather.isCalm = true),
  rest: () => (weather.isResting = true),
};

export function live(side: Side, stop: () => Promise<unknown>): void {
  let told = 0;
  setInterval(() => {
    if (underWay !== told) console.log(`under-way ${underWay}`);
    told = underWay;
  }, tellMs);
  createInterface({ input: process.stdin }).on("line", (line) => {
    const [name = "", ...words] = line.split(" ");
    if (name === "store") side.order?.(words);
    else orders[name]?.(words[0] ?? "");
  });
  process.once("SIGTERM", () => {
    weather.isResting = true;
    void stop()
      .catch(() => undefined)
      .finally(() => process.exit(0));
  });
  process.on("uncaughtException", (error, origin) =>
    console.log(`trouble ${origin}: ${String(error?.stack ?? error)}`.replaceAll("\n", " | ")),
  );
  // Most of these processes are killed, and would leave nothing in the cache.
  flushCompileCache();
  console.log("ready");
}
