/** The shop's settings. The README has the same table with its reasons. */
import { join, resolve } from "node:path";
import { isLoopback } from "./callers.ts";
import { databaseSchemes } from "./database/open.ts";
import { brokerSchemes } from "./events/broker.ts";
import { SettingsReader, type Variables } from "./environment.ts";
import { parseTokens, type Tokens } from "./http/tokens.ts";

export interface ShopConfig {
  readonly port: number;
  readonly host: string;
  /** Holds the shop's database and the ledger of a bank it starts itself. */
  readonly dataFolder: string;
  /** Absent: an SQLite file in the data folder. */
  readonly databaseUrl: string | undefined;
  /** Absent: keys live in the same database. */
  readonly keyStoreUrl: string | undefined;
  /** Absent: events stay in the process. */
  readonly brokerUrl: string | undefined;
  /** Absent: the shop starts a bank of its own. */
  readonly gatewayUrl: string | undefined;
  /** Where a bank that the shop starts keeps its ledger, if not in the data folder. */
  readonly bankFile: string | undefined;
  readonly gatewayTimeoutMs: number;
  readonly leaseMs: number;
  readonly retentionMs: number;
  readonly sweepMs: number;
  /** How long all of the way back may take after a signal, and how much of it other servers get to hear of it. */
  readonly drainMs: number;
  readonly announceMs: number;
  /** For demonstrations: how long a keyed handler sleeps after the claim. */
  readonly handlerDelayMs: number;
  /** What is said on standard error: warnings as lines, or everything as JSON. */
  readonly log: "lines" | "json";
  /** Absent: the console lets in whoever sits at this machine, and nobody else. */
  readonly consolePassword: string | undefined;
  /** For links in the log. */
  readonly consoleUrl: string | undefined;
  /** Seals the keys in links to the console. Absent with a database server: log lines carry no link. */
  readonly consoleSecret: string | undefined;
  /** Host headers under which the playground's controls answer, beside those of loopback. */
  readonly playgroundHosts: readonly string[];
  readonly playgroundDatabaseUrl: string | undefined;
  /** Where there is no such address: a PostgreSQL of the playground's own, where npm has installed one, or files. */
  readonly playgroundStore: "postgres" | "sqlite";
  readonly tokens: Tokens;
  readonly usesDefaultTokens: boolean;
}

const DAY_MS = 86_400_000;
const DEFAULT_TOKENS = "demo-1=acme/user-1,demo-2=acme/user-2,demo-3=globex/user-3";

const CONSOLE_PASSWORD_MIN = 12;
const CONSOLE_SECRET_MIN = 32;
const POSTGRES_SCHEMES = ["postgres:", "postgresql:"];
const REDIS_SCHEMES = ["redis:", "rediss:"];

export function readConfig(variables: Variables): ShopConfig {
  const settings = new SettingsReader(variables);
  const tokenText = settings.text("SHOP_TOKENS");
  const tokens = parseTokens(tokenText ?? DEFAULT_TOKENS);
  if (typeof tokens === "string") settings.refuse("SHOP_TOKENS", tokens, "(not shown: it holds secrets)");

  const port = settings.integer("PORT", { fallback: 3000, min: 0, max: 65_535 });
  const host = settings.text("HOST") ?? "127.0.0.1";
  const consolePassword = settings.text("SHOP_CONSOLE_PASSWORD");
  if (consolePassword !== undefined && consolePassword.length < CONSOLE_PASSWORD_MIN)
    settings.refuse("SHOP_CONSOLE_PASSWORD", `at least ${CONSOLE_PASSWORD_MIN} characters`, "(not shown)");
  const consoleSecret = settings.text("SHOP_CONSOLE_SECRET");
  if (consoleSecret !== undefined && consoleSecret.length < CONSOLE_SECRET_MIN)
    settings.refuse("SHOP_CONSOLE_SECRET", `at least ${CONSOLE_SECRET_MIN} characters`, "(not shown)");
  const config: ShopConfig = {
    port,
    host,
    consolePassword,
    consoleSecret,
    consoleUrl: settings.httpUrl("SHOP_CONSOLE_URL") ?? ownConsoleUrl(host, port),
    dataFolder: resolve(settings.text("SHOP_DATA") ?? "data"),
    databaseUrl: settings.serverUrl("DATABASE_URL", databaseSchemes, "/database"),
    keyStoreUrl: settings.serverUrl("KEY_STORE_URL", REDIS_SCHEMES),
    brokerUrl: settings.serverUrl("BROKER_URL", brokerSchemes),
    gatewayUrl: settings.httpUrl("GATEWAY_URL"),
    bankFile: settings.text("BANK_DATA"),
    gatewayTimeoutMs: settings.integer("GATEWAY_TIMEOUT_MS", { fallback: 3000, min: 10, max: 600_000 }),
    leaseMs: settings.integer("IDEMPOTENCY_LEASE_MS", { fallback: 30_000, min: 50, max: 60_000 }),
    retentionMs: settings.integer("IDEMPOTENCY_RETENTION_MS", { fallback: DAY_MS, min: 100, max: 365 * DAY_MS }),
    sweepMs: settings.integer("IDEMPOTENCY_SWEEP_MS", { fallback: 3_600_000, min: 50, max: 7 * DAY_MS }),
    drainMs: settings.integer("SHOP_DRAIN_MS", { fallback: 20_000, min: 100, max: 600_000 }),
    announceMs: settings.integer("SHOP_ANNOUNCE_MS", { fallback: 0, min: 0, max: 60_000 }),
    log: settings.oneOf("SHOP_LOG", ["lines", "json"]),
    handlerDelayMs: settings.integer("SHOP_HANDLER_DELAY_MS", { fallback: 0, min: 0, max: 600_000 }),
    playgroundHosts: (settings.text("PLAYGROUND_HOSTS") ?? "").split(",").filter((host) => host !== ""),
    playgroundDatabaseUrl: settings.serverUrl("PLAYGROUND_DATABASE_URL", POSTGRES_SCHEMES, "/database"),
    playgroundStore: settings.oneOf("PLAYGROUND_STORE", ["postgres", "sqlite"]),
    tokens: typeof tokens === "string" ? new Map() : tokens,
    usesDefaultTokens: tokenText === undefined,
  };
  settings.finish();
  return config;
}

/** A free port is not known before the shop listens. */
function ownConsoleUrl(host: string, port: number): string | undefined {
  if (port === 0 || !isLoopback(host)) return undefined;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}/console`;
}

export function databaseFile(config: ShopConfig): string {
  return join(config.dataFolder, "shop.sqlite");
}

/** Beside the shop's own file, so that shops on one folder share one ledger even when each starts a bank. */
export function bankFile(config: ShopConfig): string {
  return config.bankFile ?? join(config.dataFolder, "bank.db");
}
