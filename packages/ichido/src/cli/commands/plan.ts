/** `ichido plan`: the statements that `ichido migrate` would run now. */
import { defineCommand, jsonFlag } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { projectFlags } from "../project.ts";
import { migratorsOf, partFlags, pendingSteps } from "../schema-migrators.ts";

export const planCommand = defineCommand({
  name: "plan",
  summary: "print the statements that migrate would run",
  about: `
Prints SQL for your own tool, in the order in which it is to run, the notes in the ledger included. Changes nothing.`,
  flags: { ...partFlags, ...jsonFlag, ...projectFlags },
  examples: [["ichido plan > ichido.sql", "to read it, or to have it run by somebody with more rights"]],
  async run({ flags, io, print, open }) {
    const project = await open();
    const migrators = migratorsOf(project, flags.part);
    const pending = await pendingSteps(migrators);
    for (const { part, version, name, statements } of pending) {
      print.line("migration", { part, version, name, statements });
      if (!print.json)
        io.out(`-- ichido ${part} ${version}: ${name}\n${statements.map((sql) => `${sql};\n`).join("\n")}\n`);
    }
    if (migrators.length === 0) print.note(`${project.store.name} needs no tables`);
    else if (pending.length === 0) print.note("the tables are up to date");
    return exitCodes.ok;
  },
});
