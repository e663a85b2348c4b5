/** `ichido migrate`: creates or updates the tables. */
import { defineCommand, jsonFlag } from "../command.ts";
import { actorOf, decisionFlags } from "../decision.ts";
import { exitCodes } from "../exit-codes.ts";
import { projectFlags } from "../project.ts";
import { migratorsOf, partFlags, pendingSteps, type PartName } from "../schema-migrators.ts";
import type { Column } from "../table.ts";

export const stepColumns: readonly Column<{
  readonly part: PartName;
  readonly version: number;
  readonly name: string;
}>[] = [
  { head: "PART", cell: ({ part }) => part },
  { head: "VERSION", cell: ({ version }) => version, align: "right" },
  { head: "NAME", cell: ({ name }) => name },
];

const { reason, actor, "dry-run": dryRun } = decisionFlags;

export const migrateCommand = defineCommand({
  name: "migrate",
  summary: "create or update the tables",
  about: `
Runs the migrations that are missing, under a lock: any number of processes may do so at once. They only ever add, so that
the version before goes on while a deploy rolls. What ran is noted in the audit.`,
  flags: { ...partFlags, "dry-run": dryRun, reason, actor, ...jsonFlag, ...projectFlags },
  examples: [
    ["ichido migrate", "when you deploy"],
    ["ichido migrate --store postgres://localhost/shop --part records --part outbox", "without a configuration"],
  ],
  async run({ flags, io, print, open }) {
    const isTrial = flags["dry-run"] === true;
    const project = await open({ create: !isTrial });
    const migrators = migratorsOf(project, flags.part);
    const applied: { part: PartName; version: number; name: string }[] = [];
    if (isTrial) applied.push(...(await pendingSteps(migrators)));
    else {
      for (const [index, { part, migrator }] of migrators.entries()) {
        print.progress(index, migrators.length, "parts");
        applied.push(...(await migrator.migrate()).map((step) => ({ part, ...step })));
      }
    }
    const columns = stepColumns;
    print.rows("migration", applied, columns, ({ part, version, name }) => ({ part, version, name, dryRun: isTrial }));
    if (!isTrial && applied.some(({ part }) => part === "records")) {
      const versions = applied.map(({ part, version }) => `${part} ${version}`).join(", ");
      const why = flags.reason ?? "ichido migrate";
      await project.store.note({
        actor: actorOf(flags, io.env),
        action: "migrate",
        reason: `${why}: ${versions}`.slice(0, 1_000),
      });
    }
    if (migrators.length === 0) print.note(`${project.store.name} needs no tables`);
    else if (applied.length === 0) print.note("the tables are up to date");
    else print.note(isTrial ? `${applied.length} would be applied` : `${applied.length} applied`);
    return exitCodes.ok;
  },
});
