/** Which records a command is about: the same options wherever records are chosen. */
import { present } from "../core/contract/present.ts";
import type { RecordState } from "../core/contract/record.ts";
import type { ListQuery, Store, StoredRecord } from "../core/contract/store.ts";
import type { Flags } from "./command.ts";
import { CommandError, notFound, UsageError } from "./exit-codes.ts";
import { isRecordName } from "../operations/masked-key.ts";
import type { Project } from "./project.ts";

export const scopeFlags = {
  operation: { type: "string", value: "name", says: "of this operation alone" },
  tenant: { type: "string", value: "id", says: "of this tenant alone" },
  principal: { type: "string", value: "id", says: "of this principal alone" },
} as const satisfies Flags;

export const filterFlags = {
  state: { type: "string", value: "state", says: "processing, completed, failed or unknown" },
  label: { type: "string", value: "name=value", says: "as the program labels its requests: customer=42" },
  resource: { type: "string", value: "kind=id", says: "what the operation made: payment=pay_9" },
  ...scopeFlags,
} as const satisfies Flags;

export type ScopeFlags = { readonly [Name in keyof typeof scopeFlags]?: string };
export type FilterFlags = { readonly [Name in keyof typeof filterFlags]?: string };

const states: readonly RecordState[] = ["processing", "completed", "failed", "unknown"];

function stateOf(text: string): RecordState {
  const state = states.find((each) => each === text);
  if (state === undefined)
    throw new UsageError(`--state: expected one of ${states.join(", ")}, got ${JSON.stringify(text)}`);
  return state;
}

/** A filter that says nothing must not find everything. */
function pairOf(option: string, text: string): readonly [name: string, value: string] {
  const at = text.indexOf("=");
  if (at < 1 || at === text.length - 1)
    throw new UsageError(`${option}: expected name=value, got ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}

function scopeOf(flags: ScopeFlags): ScopeFlags {
  for (const name of ["operation", "tenant", "principal"] as const) {
    if (flags[name] === "") throw new UsageError(`--${name}: expected a value`);
  }
  const { operation, tenant, principal } = flags;
  return present({ operation, tenant, principal });
}

export function queryOf(flags: FilterFlags): Omit<ListQuery, "limit" | "cursor"> {
  const [label, resource] = [flags.label, flags.resource];
  const labelled = label === undefined ? undefined : pairOf("--label", label);
  const made = resource === undefined ? undefined : pairOf("--resource", resource);
  return {
    ...scopeOf(flags),
    ...present({
      state: flags.state === undefined ? undefined : stateOf(flags.state),
      label: labelled && { name: labelled[0], value: labelled[1] },
      resource: made && { kind: made[0], id: made[1] },
    }),
  };
}

const pageMax = 500;
/** A caller that few records have is looked for in all of them: in short statements, one after the other. */
const lookMax = 20_000;

/** Page by page, so that nothing is held that is not needed. `onLooked`: how many were looked at so far. */
export async function* walk(
  store: Store,
  query: Omit<ListQuery, "limit" | "cursor">,
  { atOnce = pageMax, onLooked }: { readonly atOnce?: number; readonly onLooked?: (records: number) => void } = {},
): AsyncIterable<StoredRecord> {
  let cursor: string | undefined;
  let looked = 0;
  do {
    const page = await store.list({ ...query, limit: Math.min(atOnce, pageMax), lookMax, ...present({ cursor }) });
    onLooked?.((looked += page.looked ?? page.records.length));
    yield* page.records;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** How far a record is looked for by its short name, which no index knows. */
const lookedAtMax = 200_000;

type Named = Pick<Project, "store" | "nameOf">;

async function byName({ store, nameOf }: Named, name: string, scope: ScopeFlags): Promise<StoredRecord | undefined> {
  let looked = 0;
  // Records that wait for a person are few, and the ones that are asked for most.
  for (const query of [{ ...scope, state: "unknown" as const }, scope]) {
    for await (const record of walk(store, query)) {
      if (nameOf(record.identity) === name) return record;
      looked += 1;
      if (looked === lookedAtMax)
        throw new CommandError(
          "error",
          `${name} is not among the first ${lookedAtMax} records; name its --operation, --tenant or --principal, or give the key`,
        );
    }
  }
  return undefined;
}

/** Every record with this key, or the one with this short name. At least one. */
export async function recordsFor(project: Named, wanted: string, flags: ScopeFlags): Promise<readonly StoredRecord[]> {
  const scope = scopeOf(flags);
  const { records } = await project.store.list({ ...scope, key: wanted, limit: pageMax });
  if (records.length > 0) return records;
  const named = isRecordName(wanted) ? await byName(project, wanted, scope) : undefined;
  if (named !== undefined) return [named];
  const narrowed = Object.entries(scope).map(([name, value]) => ` with ${name} ${value}`);
  throw notFound(`there is no record of that key${narrowed.join("")}`);
}

export async function oneRecord(project: Named, wanted: string, flags: ScopeFlags): Promise<StoredRecord> {
  const [record, ...others] = await recordsFor(project, wanted, flags);
  if (record !== undefined && others.length === 0) return record;
  const names = [record, ...others].map(
    (each) => each && `${project.nameOf(each.identity)} (${each.identity.operation})`,
  );
  throw new UsageError(
    `${names.length} records have that key: ${names.join(", ")}; give one of these ids in its place`,
  );
}
