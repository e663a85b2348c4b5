/** Tables: there, of this version, and as the migrations made them. */
import { findingOf, type Finding } from "../core/contract/finding.ts";
import type { Migrator } from "../sql/migrator.ts";
import { findingOfError } from "./error-finding.ts";

export type Schema = Pick<Migrator, "plan" | "drift">;

export function isSchema(value: object): value is Schema {
  return "plan" in value && typeof value.plan === "function" && "drift" in value;
}

const remedy = "npx ichido migrate, or run what npx ichido plan prints with your own tool";

async function pendingOf(part: string, schema: Schema): Promise<Finding[]> {
  const planned = await schema.plan();
  const names = planned.map(({ version, name }) => `${version} (${name})`).join(", ");
  if (planned.length === 0) return [];
  return planned.some(({ version }) => version === 1)
    ? [findingOf("schema-missing", `the tables of ${part} were never made: migrations ${names} are to run`, remedy)]
    : [findingOf("schema-older", `the tables of ${part} are older than this version: it lacks ${names}`, remedy)];
}

async function driftOf(part: string, schema: Schema): Promise<Finding[]> {
  return (await schema.drift()).map(({ kind, name, statement }) =>
    kind === "index"
      ? findingOf(
          "index-missing",
          `${part}: the index ${name} is not there any more, and look-ups read whole tables`,
          statement,
        )
      : findingOf("schema-drifted", `${part}: the ${kind} ${name} is not there any more`, statement),
  );
}

/** What an index or a column is missing from is told only where the table is there at all. */
export async function checkSchema(part: string, schema: Schema): Promise<readonly Finding[]> {
  try {
    const pending = await pendingOf(part, schema);
    return pending.length > 0 ? pending : await driftOf(part, schema);
  } catch (error) {
    return [findingOfError(error, "store-refuses")];
  }
}
