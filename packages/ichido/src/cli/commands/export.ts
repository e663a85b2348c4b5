/** `ichido export --for sql|drizzle|knex`: the tables as files for the project's own migration tool. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Dialect } from "../../sql/dialect.ts";
import { defineCommand, jsonFlag, UsageError, type Call } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { drizzleJournal, exportedFiles, exportedSteps, tools, type ExportedFile } from "../exported-schema.ts";
import { chooseProject, projectFlags, type ProjectFlags } from "../project.ts";
import { chosenParts, partFlags } from "../schema-migrators.ts";
import { kindOfAddress } from "../store-address.ts";

const dialects: readonly Dialect[] = ["postgres", "mysql", "sqlite"];

/** As said, or as the project's store is; the store need not answer. */
async function dialectOf(
  given: string | undefined,
  { flags, io, open }: Pick<Call<typeof projectFlags>, "flags" | "io" | "open">,
): Promise<Dialect> {
  const named = given ?? (await projectDialect(flags, io, open));
  const dialect = dialects.find((each) => each === named);
  if (dialect !== undefined) return dialect;
  throw new UsageError(`--dialect: expected one of ${dialects.join(", ")}, got ${named}; other stores have no tables`);
}

async function projectDialect(
  flags: ProjectFlags,
  io: Call<typeof projectFlags>["io"],
  open: Call<typeof projectFlags>["open"],
): Promise<string> {
  const choice = chooseProject(flags, io);
  return choice.kind === "address" ? kindOfAddress(choice.address) : (await open()).store.name;
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
With --out, files that are there stay as they are: call it again after an update, and only what is new is added. The
ledger is written with them, so that ichido status knows what ran.`,
  flags: {
    for: { type: "string", value: "tool", says: `${tools.join(", ")}; default sql` },
    dialect: { type: "string", value: "name", says: `${dialects.join(", ")}; default: that of the project's store` },
    part: { ...partFlags.part, says: "records, outbox or inbox; default records" },
    out: { type: "string", value: "folder", says: "where to write; default: all to the standard output" },
    "dry-run": { type: "boolean", says: "with --out: names the files, and writes nothing" },
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido export --dialect postgres > ichido.sql", "all of it, to read"],
    ["ichido export --for drizzle --out drizzle", "beside your own migrations, in Drizzle's journal, too"],
    ["ichido export --for knex --dialect mysql --part records --part outbox --out migrations", "for Knex"],
  ],
  async run({ flags, io, print, open }) {
    const tool = tools.find((each) => each === (flags.for ?? "sql"));
    if (tool === undefined)
      throw new UsageError(`--for: expected one of ${tools.join(", ")}, got ${JSON.stringify(flags.for)}`);
    const dialect = await dialectOf(flags.dialect, { flags, io, open });
    const tables = {
      tablePrefix: flags["table-prefix"] ?? io.env["ICHIDO_TABLE_PREFIX"],
      schema: flags.schema ?? io.env["ICHIDO_SCHEMA"],
    };
    const files = exportedFiles(tool, exportedSteps(dialect, chosenParts(flags.part) ?? ["records"], tables));
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
