/** The parts of a project that have tables, each with its migrator. */
import type { Store } from "../core/contract/store.ts";
import type { Migrator, PlannedMigration } from "../sql/migrator.ts";
import type { Flags } from "./command.ts";
import { UsageError } from "./exit-codes.ts";
import type { Project } from "./project.ts";

export const partNames = ["records", "outbox", "inbox"] as const;
export type PartName = (typeof partNames)[number];

export const partFlags = {
  part: {
    type: "string",
    multiple: true,
    value: "name",
    says: "records, outbox or inbox; default: those of the configuration, or records",
  },
} as const satisfies Flags;

export function chosenParts(given: readonly string[] | undefined): readonly PartName[] | undefined {
  return given?.map((text) => {
    const part = partNames.find((each) => each === text);
    if (part === undefined)
      throw new UsageError(`--part: expected one of ${partNames.join(", ")}, got ${JSON.stringify(text)}`);
    return part;
  });
}

export interface PartMigrator {
  readonly part: PartName;
  readonly migrator: Migrator;
}

function hasTables(store: Store): store is Store & Migrator {
  return "plan" in store && "migrate" in store;
}

/** Redis and the memory store have no tables. */
export function migratorsOf(project: Project, given: readonly string[] | undefined): readonly PartMigrator[] {
  const { store, outbox, inbox, ichido } = project;
  const all: Readonly<Record<PartName, Migrator | undefined>> = {
    records: hasTables(store) ? store : undefined,
    outbox,
    inbox,
  };
  // An address does not tell which parts the program uses.
  const wanted = chosenParts(given) ?? (ichido === undefined ? (["records"] as const) : partNames);
  return wanted.flatMap((part) => {
    const migrator = all[part];
    if (migrator !== undefined) return [{ part, migrator }];
    if (given !== undefined) throw new UsageError(`--part: there is no ${part} with tables in ${project.place}`);
    return [];
  });
}

export interface PendingStep extends PlannedMigration {
  readonly part: PartName;
}

export async function pendingSteps(migrators: readonly PartMigrator[]): Promise<readonly PendingStep[]> {
  const pending: PendingStep[] = [];
  for (const { part, migrator } of migrators)
    pending.push(...(await migrator.plan()).map((step) => ({ part, ...step })));
  return pending;
}
