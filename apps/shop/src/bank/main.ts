/** The bank simulator as a process: alone (`npm run bank`), or as the child of a shop. */
import { resolve } from "node:path";
import { SettingsReader, type Variables } from "../environment.ts";
import { listen } from "../listen.ts";
import { exitWithReason } from "../errors.ts";
import { whenNpmIsGone } from "../parent-watch.ts";
import { checkFaultSetting, type FaultSetting } from "./faults.ts";
import { openLedger } from "./ledger.ts";
import { bankApp } from "./server.ts";

const DRAIN_MS = 2_000;

function readConfig(variables: Variables) {
  const settings = new SettingsReader(variables);
  const config = {
    port: settings.integer("BANK_PORT", { fallback: 3001, min: 0, max: 65_535 }),
    file: resolve(settings.text("BANK_DATA") ?? "data/bank.db"),
    faults: readFaults(settings),
    retentionMs: settings.integer("BANK_RETENTION_MS", { fallback: 86_400_000, min: 1, max: Number.MAX_SAFE_INTEGER }),
  };
  settings.finish();
  return config;
}

function readFaults(settings: SettingsReader): FaultSetting | undefined {
  const text = settings.text("BANK_FAULTS");
  if (text === undefined) return undefined;
  const setting = checkFaultSetting(jsonOf(text));
  if (typeof setting !== "string") return setting;
  settings.refuse("BANK_FAULTS", `what POST /faults takes (${setting})`, text);
  return undefined;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

async function main(): Promise<void> {
  const { port, file, retentionMs, faults } = readConfig(process.env);
  const ledger = await openLedger(file, retentionMs);
  const listening = await listen(bankApp(ledger, faults), "127.0.0.1", port);

  if (process.send === undefined) {
    const end = (): void => {
      void listening.part.stop({ drainMs: DRAIN_MS }).then(() => {
        ledger.close();
        process.exit(0);
      });
    };
    process.once("SIGINT", end).once("SIGTERM", end);
    whenNpmIsGone(end);
  } else {
    // A signal to the whole group (Ctrl-C) reaches the child too, but the shop still finishes payments with it. The
    // channel closes when the shop is done with its bank, and also when the shop is killed.
    const wait = (): void => undefined;
    process.on("SIGINT", wait).on("SIGTERM", wait);
    process.once("disconnect", () => process.exit(0));
    process.send({ port: listening.port });
  }
  console.log(`bank ready ${listening.url}`);
}

try {
  await main();
} catch (error) {
  exitWithReason("bank", error);
}
