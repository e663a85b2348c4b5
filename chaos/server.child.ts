/** One server of the fleet: Express over HTTP/1.1 or Fastify over HTTP/2, an engine, and the way to the store. */
import { flushCompileCache } from "node:module";
import { createInterface } from "node:readline";
import { clock } from "./engine.ts";
import { readSetup } from "./setup.ts";
import { openSide } from "./sides/side.ts";
import { atWork } from "./work.ts";

const setup = readSetup();
const side = await openSide(setup.store, setup.url);
const { serve } = setup.wire === "http1" ? await import("./serve-http1.ts") : await import("./serve-http2.ts");
const served = await serve(side, setup);

const orders: Readonly<Record<string, (words: readonly string[]) => void>> = {
  /** Nothing else runs meanwhile: no answer, no heartbeat, no timer. */
  block([ms]) {
    const untilMs = performance.now() + Number(ms);
    while (performance.now() < untilMs);
  },
  clock: ([ms]) => (clock.offMs = Number(ms)),
  store: (words) => side.order?.(words),
  /** Answers when no handler is at work. */
  idle([name]) {
    if (atWork.count === 0) console.log(`idle ${name}`);
    else setTimeout(() => orders["idle"]?.([name ?? ""]), 50);
  },
};

createInterface({ input: process.stdin }).on("line", (line) => {
  const [name = "", ...words] = line.split(" ");
  orders[name]?.(words);
});

process.once("SIGTERM", () => void served.close().finally(() => process.exit(0)));
// Either would end a server: it is told in the report.
const tell = (what: string, error: unknown): void =>
  console.log(`trouble ${what}: ${String((error as Error | undefined)?.stack ?? error)}`.replaceAll("\n", " | "));
process.on("uncaughtException", (error, origin) => tell(origin, error));
// Most of these processes are killed, and would leave nothing in the cache.
flushCompileCache();
console.log(`listening on ${served.port}`);
