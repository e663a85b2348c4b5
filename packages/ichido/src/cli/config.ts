/**
 * `ichido/config`: the project's own engine and its parts, for the command line. What the program was told is not told
 * again: the commands use the very objects that the program uses.
 */
import type { IncomingMessage } from "node:http";
import { optionInvalid } from "../core/contract/option-checks.ts";
import type { Ichido } from "../core/engine/create-ichido.ts";
import type { ReconcilerOptions } from "../core/engine/reconciler-options.ts";
import type { Inbox } from "../inbox/index.ts";
import type { Outbox } from "../outbox/index.ts";
import type { DoctorParts } from "../operations/index.ts";
import type { ConsoleOptions } from "../console/options.ts";
import type { PublishedRoute } from "../policy/index.ts";
import { checkConfig } from "./config-check.ts";

export interface IchidoConfig {
  /** What `createIchido(…)` gave. */
  readonly ichido: Ichido<never, never>;
  readonly outbox?: Outbox<never>;
  readonly inbox?: Inbox<never>;
  /** What the program gives to `createReconciler`: `ichido reconcile` asks providers by it. */
  readonly reconciler?: ReconcilerOptions;
  /** The protected routes, as `policyOf` gets them: `ichido openapi` compares them with a document. */
  readonly routes?: readonly PublishedRoute<never>[];
  /** Of the consumers: `ichido doctor` compares how long the broker may redeliver with the inbox's retention. */
  readonly subscriptions?: NonNullable<DoctorParts["subscriptions"]>;
  /** How long your clients wait for an answer, in all or by operation, for `ichido doctor`. */
  readonly clientTimeoutMs?: NonNullable<DoctorParts["clientTimeoutMs"]>;
  /** Addresses that browsers of another origin send keys to: `ichido doctor` asks them by OPTIONS. */
  readonly preflights?: NonNullable<DoctorParts["preflights"]>;
  /** For `ichido console`: who is let in from elsewhere than this machine, and how it is shown. */
  readonly console?: Pick<ConsoleOptions<IncomingMessage>, "authorize" | "environmentName" | "readOnly">;
  /** Ends what the file opened, such as pools. Called when a command has ended. */
  readonly close?: () => unknown;
}

/** The file's default export: the parts, or a function that makes them when a command needs them. */
export type ConfigExport = IchidoConfig | Promise<IchidoConfig> | (() => IchidoConfig | Promise<IchidoConfig>);

/** Checks what `ichido.config.ts` exports, and gives it its type. */
export function defineConfig<const Given extends ConfigExport>(config: Given): Given {
  if (typeof config === "object" && config !== null && !(config instanceof Promise)) checkConfig(config);
  else if (typeof config !== "function" && !(config instanceof Promise))
    throw optionInvalid("defineConfig", "an object of options, or a function that gives one", config);
  return config;
}
