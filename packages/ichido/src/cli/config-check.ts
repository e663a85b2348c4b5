/** What a configuration exports is checked once more when it is loaded: it may come without `defineConfig`. */
import { knownOptions, optionInvalid, type OptionNames } from "../core/contract/option-checks.ts";
import type { IchidoConfig } from "./config.ts";

const names: OptionNames<IchidoConfig> = {
  ichido: true,
  outbox: true,
  inbox: true,
  reconciler: true,
  routes: true,
  subscriptions: true,
  clientTimeoutMs: true,
  preflights: true,
  console: true,
  close: true,
};

function speaks(value: unknown, ...verbs: readonly string[]): boolean {
  const members = Object(value) as Readonly<Record<string, unknown>>;
  return verbs.every((verb) => typeof members[verb] === "function");
}

export function checkConfig(config: IchidoConfig): IchidoConfig {
  knownOptions("defineConfig", config, names);
  const { ichido, outbox, inbox, close } = config;
  if (!speaks(ichido, "route", "sweep", "close")) throw optionInvalid("ichido", "what createIchido(…) gave", ichido);
  if (outbox !== undefined && !speaks(outbox, "add", "migrate"))
    throw optionInvalid("outbox", "what createOutbox(…) gave", outbox);
  if (inbox !== undefined && !speaks(inbox, "runOnce", "migrate"))
    throw optionInvalid("inbox", "what createInbox(…) gave", inbox);
  if (close !== undefined && typeof close !== "function") throw optionInvalid("close", "a function", close);
  return config;
}
