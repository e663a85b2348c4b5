/** What a command works on: the project's engine by its configuration, or a store by its address. */
import type { Store } from "../core/contract/store.ts";
import type { Inbox } from "../inbox/index.ts";
import type { Outbox } from "../outbox/index.ts";
import { linkOf } from "../core/engine/console-link.ts";
import { recordNames, type NameOf } from "../operations/masked-key.ts";
import type { IchidoConfig } from "./config.ts";
import { configNames, findConfig, loadConfig } from "./config-file.ts";
import type { Flags, Io } from "./command.ts";
import { UsageError } from "./exit-codes.ts";
import { openAddress, shownAddress, type Tables } from "./store-address.ts";

export const projectFlags = {
  config: { type: "string", value: "file", says: `default ${configNames[0]} of this project, or ICHIDO_CONFIG` },
  store: {
    type: "string",
    value: "address",
    says: "in place of a configuration: a SQLite file, postgres://, mysql:// or redis://; or ICHIDO_STORE",
  },
  "table-prefix": {
    type: "string",
    value: "prefix",
    says: "with --store: as the store has it; or ICHIDO_TABLE_PREFIX",
  },
  schema: { type: "string", value: "name", says: "with --store on PostgreSQL; or ICHIDO_SCHEMA" },
} as const satisfies Flags;

export type ProjectFlags = { readonly [Name in keyof typeof projectFlags]?: string };

/** The engine is there where a configuration named it. */
export interface Project extends Omit<IchidoConfig, "ichido" | "close"> {
  readonly ichido?: IchidoConfig["ichido"];
  readonly store: Store;
  /** What records are called: under the engine's secret, where it has one. */
  readonly nameOf: NameOf;
  readonly outbox?: Outbox<never>;
  readonly inbox?: Inbox<never>;
  /** What was opened, as it may be shown. */
  readonly place: string;
  close(): Promise<void>;
}

export type Choice =
  | { readonly kind: "address"; readonly address: string; readonly tables: Tables }
  | { readonly kind: "config"; readonly file: string };

const storeVariable = "ICHIDO_STORE";
const configVariable = "ICHIDO_CONFIG";

/** A configuration names its tables itself: others would be asked for, and not looked at. */
function named(choice: Choice, flags: ProjectFlags): Choice {
  const flag =
    flags["table-prefix"] !== undefined ? "--table-prefix" : flags.schema !== undefined ? "--schema" : undefined;
  if (choice.kind === "config" && flag !== undefined)
    throw new UsageError(`${flag}: goes with --store; a configuration names its own tables`);
  return choice;
}

/** Flags win over the environment, which wins over the file of the project. */
export function findProject(flags: ProjectFlags, { env, cwd }: Pick<Io, "env" | "cwd">): Choice | undefined {
  const tables: Tables = {
    tablePrefix: flags["table-prefix"] ?? env["ICHIDO_TABLE_PREFIX"],
    schema: flags.schema ?? env["ICHIDO_SCHEMA"],
  };
  if (flags.store !== undefined && flags.config !== undefined)
    throw new UsageError("--store and --config: give one of them; the configuration names the store");
  const of = (address: string | undefined, file: string | undefined): Choice | undefined =>
    address !== undefined
      ? { kind: "address", address, tables }
      : file !== undefined
        ? { kind: "config", file }
        : undefined;
  const flagged = of(flags.store, flags.config);
  if (flagged !== undefined) return named(flagged, flags);
  const [address, file] = [env[storeVariable] || undefined, env[configVariable] || undefined];
  if (address !== undefined && file !== undefined)
    throw new UsageError(`${storeVariable} and ${configVariable} are both set: unset one, or give --store or --config`);
  const found = of(address, file ?? findConfig(cwd));
  return found && named(found, flags);
}

export function chooseProject(flags: ProjectFlags, io: Pick<Io, "env" | "cwd">): Choice {
  const found = findProject(flags, io);
  if (found !== undefined) return found;
  throw new UsageError(
    `there is no ${configNames.join(", ")} in ${io.cwd}; write one (ichido init), or name the store with --store`,
  );
}

/** A forgotten retention would be a lie, but nothing that is asked of it here depends on it. */
const unusedRetentionMs = 86_400_000;

async function openByAddress(choice: Choice & { kind: "address" }, io: Io, create: boolean): Promise<Project> {
  const { address, tables } = choice;
  const { store, transactions, close } = await openAddress(address, tables, io.cwd, create);
  const shared = { store, nameOf: recordNames(undefined), place: shownAddress(address) };
  const closeAll = async (): Promise<void> => {
    await store.close();
    await close();
  };
  if (transactions === undefined) return { ...shared, close: closeAll };
  const { createOutbox } = await import("../outbox/index.ts");
  const { createInbox } = await import("../inbox/index.ts");
  const named = Object.fromEntries(Object.entries(tables).filter(([, value]) => value !== undefined)) as object;
  return {
    ...shared,
    outbox: createOutbox<never>({ transactions, topics: {}, source: "/ichido", ...named }),
    inbox: createInbox<never>({ transactions, retentionMs: unusedRetentionMs, ...named }),
    close: closeAll,
  };
}

async function openByConfig(file: string, io: Io): Promise<Project> {
  const { close, ...config } = await loadConfig(file, io.cwd);
  return {
    ...config,
    store: config.ichido.store,
    nameOf: recordNames(linkOf(config.ichido).secret),
    place: file,
    async close() {
      await config.ichido.close();
      await close?.();
    },
  };
}

/** `create`: the command may make a SQLite file. */
export function openProject(flags: ProjectFlags, io: Io, create = false): Promise<Project> {
  const choice = chooseProject(flags, io);
  return choice.kind === "config" ? openByConfig(choice.file, io) : openByAddress(choice, io, create);
}
