/** `ichido why --json` as the person on call runs it, by a configuration like the shop's own; in this process. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { main } from "../../../packages/ichido/src/cli/main.ts";
import { databaseFile, type Bed } from "./bed.ts";
import type { Ticket } from "./seed.ts";

/** What is looked at of the line of a verdict. */
export interface AskedVerdict {
  readonly type: "verdict";
  readonly verdict: string;
  readonly severity: "ok" | "warning" | "page";
  readonly says: string;
  readonly keys: readonly { readonly effects: { readonly count: number } }[];
  readonly intents?: readonly { readonly refund: readonly string[] }[];
  /** With which the command ended. */
  readonly code: number;
}

function moduleUrl(path: string): string {
  return JSON.stringify(new URL(path, import.meta.url).href);
}

/** Opens the shop's file anew for every command, at the time to which its clock was moved. */
function configOf(bed: Bed, bankUrl: string): string {
  return `import { createInbox } from ${moduleUrl("../../../packages/ichido/src/inbox/index.ts")};
import { defineConfig } from ${moduleUrl("../../../packages/ichido/src/cli/config.ts")};
import { readConfig } from ${moduleUrl("../src/config.ts")};
import { openSqlite } from ${moduleUrl("../src/database/sqlite.ts")};
import { shopEngine } from ${moduleUrl("../src/engine.ts")};

export default defineConfig(async () => {
  const nowMs = () => Date.now() + ${bed.nowMs() - Date.now()};
  const database = await openSqlite(${JSON.stringify(databaseFile(bed.folder))}, { nowMs });
  const config = readConfig(${JSON.stringify(bed.settings)});
  return {
    ichido: shopEngine({ config, store: database.keyStore, gatewayUrl: ${JSON.stringify(bankUrl)} }),
    inbox: createInbox({ transactions: database.transactions, retentionMs: ${bed.inbox.retentionMs} }),
    close: () => database.close(),
  };
});
`;
}

function argumentsOf({ question: { text, amount, atMs, withinMs } }: Ticket): readonly string[] {
  return [
    ...(text === undefined ? [] : [text]),
    ...(amount === undefined ? [] : ["--amount", String(amount)]),
    ...(atMs === undefined ? [] : ["--at", new Date(atMs).toISOString()]),
    ...(withinMs === undefined ? [] : ["--within", `${withinMs}ms`]),
  ];
}

/** A ticket whose provider cannot be asked has a configuration of its own. */
export function createAsk(bed: Bed): (ticket: Ticket) => Promise<AskedVerdict> {
  const files = { bank: join(bed.folder, "ichido.config.mjs"), blind: join(bed.folder, "blind.config.mjs") };
  writeFileSync(files.bank, configOf(bed, bed.bankUrl));
  writeFileSync(files.blind, configOf(bed, bed.blindUrl));
  return async (ticket) => {
    let [out, err] = ["", ""];
    const code = await main(
      ["why", ...argumentsOf(ticket), "--json", "--config", ticket.blind === true ? files.blind : files.bank],
      {
        out: (text) => void (out += text),
        err: (text) => void (err += text),
        env: {},
        cwd: bed.folder,
        signal: new AbortController().signal,
        drawsProgress: false,
      },
    );
    const verdict = out
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as AskedVerdict)
      .find(({ type }) => type === "verdict");
    if (verdict === undefined) throw new Error(`ichido why ended with ${code} and no verdict: ${out}${err}`);
    return { ...verdict, code };
  };
}
