/** Puts together what a console works with. */
import { randomBytes } from "node:crypto";
import { optionInvalid } from "../core/contract/option-checks.ts";
import { linkOf } from "../core/engine/console-link.ts";
import { recordNames } from "../operations/masked-key.ts";
import type { ConsoleParts } from "./parts.ts";
import { createGate, gatedStore } from "./gate.ts";
import { createOpenCount } from "./open-count.ts";
import { settingsOf, type ConsoleEngine, type ConsoleOptions } from "./options.ts";
import { createSamples } from "./samples.ts";
import { createTokens } from "./token.ts";
import { createTrafficRing } from "./traffic-ring.ts";

const probeMs = 20_000;
const probesAtOnce = 4;

export function createParts(engine: ConsoleEngine, options: ConsoleOptions<never>): ConsoleParts & { close(): void } {
  const { store } = Object(engine) as Partial<ConsoleEngine>;
  if (typeof store?.list !== "function")
    throw optionInvalid("ichido", "the engine that createIchido(…) gave, or { store }", engine);
  const settings = settingsOf(options);
  const gate = createGate(settings.callsMax, settings.storeTimeoutMs);
  const gated = gatedStore(store, gate);
  const link = linkOf(engine);
  const samples = createSamples(gated);
  const traffic = createTrafficRing();
  const listeners: ConsoleParts["listeners"] = new Set();
  const off = engine.on?.((event) => traffic.hear(event));
  return {
    engine,
    settings,
    store: gated,
    gate,
    probeGate: createGate(probesAtOnce, probeMs),
    link,
    // Who may only look must not try guessed keys against a name: without a secret, names end with the process, as links do.
    looking: { reveal: false, nameOf: recordNames(link.secret ?? randomBytes(32).toString("hex")) },
    tokens: createTokens(link.secret),
    samples,
    traffic,
    openCount: createOpenCount(gated),
    listeners,
    close() {
      samples.stop();
      for (const end of listeners) end();
      off?.();
    },
  };
}
