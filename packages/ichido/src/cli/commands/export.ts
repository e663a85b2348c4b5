/** `ichido export --for sql|drizzle|knex`: the tables as files for the project's own migration tool. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Dialect } from "../../sql/dialect.ts";
import { defineCommand, jsonFlag, UsageError, type Call, type Flags } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import {
  drizzleJournal,
  exportedByName,
  exportedFiles,
  exportedFrom,
  tools,
  type Exported,
  type ExportedFile,
} from "../exported-schema.ts";
import { chooseProject, findProject, projectFlags } from "../project.ts";
import { chosenParts, migratorsOf, partFlags } from "../schema-migrators.ts";
import { kindOfAddress } from "../store-address.ts";

const dialects: readonly Dialect[] = ["postgres", "mysql", "sqlite"];

const exportFlags = {
  for: { type: "string", value: "tool", says: `${tools.join(", ")}; default sql` },
  dialect: { type: "string", value: "name", says: `${dialects.join(", ")}; default: that of the project's store` },
  ...partFlags,
  out: { type: "string", value: "folder", says: "where to write; default: all to the standard output" },
  "dry-run": { type: "boolean", says: "with --out: names the files, and writes nothing" },
  ...jsonFlag,
  ...projectFlags,
} as const satisfies Flags;

type ExportCall = Call<typeof exportFlags>;

function asDialect(named: string | undefined): Dialect {
  const dialect = dialects.find((each) => each === named);
  if (dialect !== undefined) return dialect;
  throw new UsageError(`--dialect: expected one of ${dialects.join(", ")}, got ${named}; other stores have no tables`);
}

/** A configuration tells its tables by its own parts; of an address and of names said here, no database is asked. */
async function exportedOf({ flags, io, open }: Pick<ExportCall, "flags" | "io" | "open">): Promise<Exported> {
  const wanted = flags.dialect === undefined ? undefined : asDialect(flags.dialect);
  const choice = wanted === undefined ? chooseProject(flags, io) : findProject(flags, io);
  if (choice?.kind === "config") {
    const migrators = migratorsOf(await open(), flags.part);
    return exportedFrom(
      migrators.map(({ part, migrator }) => ({ part, ...migrator.fullPlan() })),
      wanted,
    );
  }
  const tables = {
    tablePrefix: flags["table-prefix"] ?? io.env["ICHIDO_TABLE_PREFIX"],
    schema: flags.schema ?? io.env["ICHIDO_SCHEMA"],
  };
  const dialect = wanted ?? asDialect(choice && kindOfAddress(choice.address));
  return exportedByName(dialect, chosenParts(flags.part) ?? ["records"], tables);
}

/** Those that are there already ran somewhere: they are left as they are. */
function writeFiles(folder: string, files: readonly ExportedFile[]): readonly ExportedFile[] {
  mkdirSync(folder, { recursive: true });
  const added = files.filter(({ name }) => !existsSync(join(folder, name)));
  for (const { name, text } of added) writeFileSync(join(folder, name), text, { flag: "wx" });
  return added;
}

export const exportCommand = defineCommand({
  name: "export",
  summary: "write the tables as files for your own migration tool",
  about: `
Writes every migration as a file of its own, for people whose database is migrated by one tool alone. No database is asked.
Of a configuration, the tables are those of its own store, outbox and inbox, under their prefix and schema.
With --out, files that are there stay as they are: call it again after an update, and only what is new is added. The
ledger is written with them, so that ichido status knows what ran.`,
  flags: exportFlags,
  examples: [
    ["ichido export --dialect postgres > ichido.sql", "all of it, to read"],
    ["ichido export --for drizzle --out drizzle", "beside your own migrations, in Drizzle's journal, too"],
    ["ichido export --for knex --dialect mysql --part records --part outbox --out migrations", "for Knex"],
  ],
  async run({ flags, io, print, open }) {
    const tool = tools.find((each) => each === (flags.for ?? "sql"));
    if (tool === undefined)
      throw new UsageError(`--for: expected one of ${tools.join(", ")}, got ${JSON.stringify(flags.for)}`);
    const { dialect, steps } = await exportedOf({ flags, io, open });
    const files = exportedFiles(tool, steps);
    if (flags.out === undefined) {
      for (const { name, text } of files) {
        print.line("file", { name, text });
        if (!print.json) io.out(`${text}\n`);
      }
      return exitCodes.ok;
    }
    const folder = join(io.cwd, flags.out);
    const isTrial = flags["dry-run"] === true;
    const added = isTrial ? files.filter(({ name }) => !existsSync(join(folder, name))) : writeFiles(folder, files);
    for (const { name } of added) {
      print.line("file", { name, dryRun: isTrial });
      print.text(`${isTrial ? "would write" : "wrote"} ${join(flags.out, name)}`);
    }
    if (tool === "drizzle" && added.length > 0 && !isTrial) {
      const journal = join(folder, "meta/_journal.json");
      mkdirSync(join(folder, "meta"), { recursive: true });
      const before = existsSync(journal) ? readFileSync(journal, "utf8") : undefined;
      writeFileSync(journal, drizzleJournal(before, dialect, added, Date.now()));
      print.note(`${added.length} added to ${join(flags.out, "meta/_journal.json")}`);
    }
    if (added.length === 0) print.note("all of them are there");
    return exitCodes.ok;
  },
});
