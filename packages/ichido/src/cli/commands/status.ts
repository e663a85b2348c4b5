/** `ichido status`: whether the tables are those that this version needs. */
import { defineCommand, jsonFlag } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { projectFlags } from "../project.ts";
import { migratorsOf, partFlags, pendingSteps } from "../schema-migrators.ts";

export const statusCommand = defineCommand({
  name: "status",
  summary: "tell whether migrations are missing",
  about: `
Compares the tables with what this version needs, part by part. Changes nothing.`,
  flags: { ...partFlags, ...jsonFlag, ...projectFlags },
  examples: [["ichido status || ichido migrate", "in a deploy"]],
  exits: "0 the tables are up to date, 3 migrations are missing.",
  async run({ flags, print, open }) {
    const project = await open();
    const migrators = migratorsOf(project, flags.part);
    const parts = [];
    for (const each of migrators) {
      const pending = await pendingSteps([each]);
      parts.push({ part: each.part, pending: pending.map(({ version, name }) => ({ version, name })) });
    }
    print.rows("schema", parts, [
      { head: "PART", cell: ({ part }) => part },
      {
        head: "TABLES",
        cell: ({ pending }) => (pending.length === 0 ? "up to date" : `${pending.length} missing`),
        style: ({ pending }) => (pending.length === 0 ? "green" : "red"),
      },
      { head: "MISSING", cell: ({ pending }) => pending.map(({ version, name }) => `${version} ${name}`).join(", ") },
    ]);
    if (migrators.length === 0) print.note(`${project.store.name} needs no tables`);
    const isPending = parts.some(({ pending }) => pending.length > 0);
    if (isPending) print.note("run ichido migrate, or what ichido plan prints");
    return isPending ? exitCodes.finding : exitCodes.ok;
  },
});
