/**
 * Migrations of every part of ichido, in its own database or in the user's: numbered, forward only, under a lock, each
 * noted in a ledger that all parts share. `migrate` runs the very statements that `plan` shows.
 */
import { IchidoError } from "../core/contract/errors.ts";
import { numberOf, textOf } from "./columns.ts";
import { driftOf, type Drift } from "./drift.ts";
import { pendingMigrations, type LedgerRow, type Migration, type SchemaPart } from "./migration.ts";
import { schemaDialects, type SchemaTalk } from "./schema-dialects.ts";
import { namedTables } from "./table-prefix.ts";

export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
}

export interface PlannedMigration extends AppliedMigration {
  /**
   * Single statements for a tool of your own, in this order, the note in the ledger included. In one transaction, where the
   * database can create tables in one.
   */
  readonly statements: readonly string[];
}

export interface FullPlan {
  readonly dialect: SchemaPart["dialect"];
  readonly steps: readonly PlannedMigration[];
}

export interface Migrator {
  /** What `migrate` would run now. */
  plan(): Promise<readonly PlannedMigration[]>;
  /**
   * Creates or updates the tables. Run it when you deploy; any number of processes may do so at once. Gives what was applied:
   * by this call or, with the PostgreSQL store, by another one meanwhile.
   */
  migrate(): Promise<readonly AppliedMigration[]>;
  /** What `migrate` would run in an empty database, under the names of this part's tables. Asks none. */
  fullPlan(): FullPlan;
  /** What migrations made that is not there any more, with the statements that bring it back. Reads the catalogue alone. */
  drift(): Promise<readonly Drift[]>;
}

/** Ways to hold a talk on one connection; `write` in one transaction, where a talk is not one by its statements alone. */
export interface SchemaAccess {
  read<Result>(talk: () => SchemaTalk<Result>): Promise<Result>;
  write<Result>(talk: () => SchemaTalk<Result>): Promise<Result>;
}

function* pendingSteps(part: SchemaPart): SchemaTalk<readonly Migration[]> {
  const { ledgerExists } = schemaDialects[part.dialect];
  const isThere = (yield ledgerExists(part)).length > 0;
  const ledger: LedgerRow[] = [];
  if (isThere) {
    const rows =
      yield `select version, checksum from ${part.prefix}migrations where part = '${part.part}' order by version`;
    for (const row of rows) ledger.push({ version: numberOf(row, "version"), checksum: textOf(row, "checksum") });
  }
  return pendingMigrations(part.part, part.migrations, ledger);
}

function planned(part: SchemaPart, steps: readonly Migration[]): readonly PlannedMigration[] {
  const { statementsOf } = schemaDialects[part.dialect];
  return steps.map((step) => ({
    version: step.version,
    name: step.name,
    statements: statementsOf(part, step).map((sql) => namedTables(part.prefix, sql)),
  }));
}

/** What an empty database needs, without one. */
export function wholeSchema(part: SchemaPart): readonly PlannedMigration[] {
  return planned(part, part.migrations);
}

function* plan(part: SchemaPart): SchemaTalk<readonly PlannedMigration[]> {
  return planned(part, yield* pendingSteps(part));
}

function* apply(part: SchemaPart, steps: readonly PlannedMigration[]): SchemaTalk<readonly AppliedMigration[]> {
  const { isDone } = schemaDialects[part.dialect];
  for (const sql of steps.flatMap(({ statements }) => statements)) {
    const look = isDone?.(sql);
    if (look === undefined || (yield look).length === 0) yield sql;
  }
  return steps.map(({ version, name }) => ({ version, name }));
}

function* drift(part: SchemaPart): SchemaTalk<readonly Drift[]> {
  const pending = yield* pendingSteps(part);
  return yield* driftOf(part, new Set(pending.map(({ version }) => version)));
}

export function createMigrator(part: SchemaPart, access: SchemaAccess): Migrator {
  const { locked } = schemaDialects[part.dialect];
  return {
    plan: () => access.read(() => plan(part)),
    drift: () => access.read(() => drift(part)),
    fullPlan: () => ({ dialect: part.dialect, steps: wholeSchema(part) }),
    async migrate() {
      for (;;) {
        let seen = 0;
        function* all(): SchemaTalk<readonly AppliedMigration[]> {
          const steps = yield* plan(part);
          seen = steps.length;
          return yield* apply(part, steps);
        }
        try {
          return await access.write(() => locked(part, all));
        } catch (error) {
          if (part.dialect !== "postgres") throw error;
          // Where sessions are `repeatable read` or stricter, a process that waited for the lock does not see what
          // another one applied meanwhile, and fails when it applies it again.
          const left = await access.read(() => plan(part)).catch(() => undefined);
          if (left === undefined || left.length >= seen) throw error;
        }
      }
    },
  };
}

/** Throws `schema-missing` with what to do; `owner` has the `migrate` to call. */
export function* requireSchema(part: SchemaPart, owner: string, place = "the database"): SchemaTalk<void> {
  const [next] = yield* pendingSteps(part);
  if (next === undefined) return;
  throw new IchidoError(
    "schema-missing",
    `${place} lacks migration ${next.version} (${next.name}) of ${part.prefix}${part.part}; call ${owner}.migrate() (npx ichido migrate) once at ` +
      `deploy, or run what ${owner}.plan() gives with your own tool`,
  );
}
