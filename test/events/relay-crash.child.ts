/**
 * A relay in a process of its own. Its broker is the table of effects: what is there was taken over, whatever happens to
 * the process next.
 */
import { flushCompileCache } from "node:module";
import type { TransactionHandle } from "ichido";
import { createOutbox, createRelay, type Publisher } from "ichido/outbox";
import type { TransactionRunner } from "ichido/transactions";
import { outboxOptions, relayOptions, type RelayLife } from "./relay-crash-settings.ts";
import { openRunner } from "./storm-side.ts";

const [dialect = "", url = "", prefix = "", given = "{}"] = process.argv.slice(2);
const life = JSON.parse(given) as RelayLife;
const plain = await openRunner(dialect as TransactionHandle["dialect"], url);
let open = 0;
let sent = 0;
let frozen = false;

const freezes = (where: RelayLife["freezes"]): boolean =>
  life.freezes === where && !frozen && sent >= (life.freezesAfter ?? 0);

function freeze(): void {
  frozen = true;
  console.log("frozen");
  process.kill(process.pid, "SIGSTOP");
}

/** Knows whether a transaction is open, and may stop in the middle of one: everything is written, nothing committed. */
const watched: TransactionRunner<unknown> = {
  dialect: plain.dialect,
  async run(fn) {
    open += 1;
    try {
      return await plain.run(async (tx, handle) => {
        const value = await fn(tx, handle);
        if (freezes("inside")) freeze();
        return value;
      });
    } finally {
      open -= 1;
    }
  },
};

async function write(id: string): Promise<void> {
  const places = dialect === "postgres" ? "$1" : "?";
  open += 1;
  await plain.run((_tx, handle) => handle.execute(`INSERT INTO effects (name) VALUES (${places})`, [id]));
  open -= 1;
}

const publisher: Publisher = {
  name: "wire",
  async publish({ id }) {
    console.log(`sending ${id}`);
    if (id === life.deadly) process.kill(process.pid, "SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, life.sendMs));
    while (freezes("outside")) {
      if (open === 0) freeze();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await write(id);
    sent += 1;
    return { outcome: "sent" };
  },
  close: async () => {},
};

const relay = createRelay(createOutbox({ ...outboxOptions, transactions: watched, tablePrefix: prefix }), {
  ...relayOptions,
  ...life.relay,
  routes: { wire: publisher },
  onEvent: (event) => console.log(`event ${event.type}`),
});
await relay.start();
// It will be killed, and would leave nothing in the compile cache.
flushCompileCache();
console.log("ready");
