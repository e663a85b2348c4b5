/** Every line of `--json` is what the published schema says: `docs/reference/cli-lines.schema.json`. */
import { readFileSync } from "node:fs";

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly $ref?: string;
}

interface Published extends Schema {
  readonly $defs: Readonly<Record<string, Schema>>;
}

export const published = JSON.parse(
  readFileSync(new URL("../../docs/reference/cli-lines.schema.json", import.meta.url), "utf8"),
) as Published;

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}

function wrongMembers(value: Readonly<Record<string, unknown>>, schema: Schema, place: string): string[] {
  const { required = [], properties = {}, additionalProperties = true } = schema;
  const missing = required.filter((name) => !(name in value)).map((name) => `${place}.${name} is missing`);
  const wrong = Object.entries(value).flatMap(([name, member]) => {
    const own = properties[name] ?? additionalProperties;
    if (own === false) return [`${place}.${name} is not in the schema`];
    return own === true ? [] : wrongIn(member, own, `${place}.${name}`);
  });
  return [...missing, ...wrong];
}

/** The part of JSON Schema that the published one uses. */
export function wrongIn(value: unknown, schema: Schema, place: string): string[] {
  if (schema.$ref !== undefined)
    return wrongIn(value, published.$defs[schema.$ref.replace("#/$defs/", "")] ?? {}, place);
  const kind = kindOf(value);
  const kinds = schema.type === undefined ? undefined : [schema.type].flat();
  if (kinds !== undefined && !kinds.includes(kind) && !(kind === "integer" && kinds.includes("number")))
    return [`${place} is ${kind}, not ${kinds.join(" or ")}`];
  if ("const" in schema && value !== schema.const) return [`${place} is not ${JSON.stringify(schema.const)}`];
  if (schema.enum !== undefined && !schema.enum.includes(value)) return [`${place} is ${JSON.stringify(value)}`];
  if (schema.pattern !== undefined && !new RegExp(schema.pattern, "u").test(String(value)))
    return [`${place} is ${String(value)}`];
  if (Array.isArray(value))
    return value.flatMap((each, index) => wrongIn(each, schema.items ?? {}, `${place}[${index}]`));
  return kind === "object" ? wrongMembers(value as Readonly<Record<string, unknown>>, schema, place) : [];
}

const linesSeen = new Set<string>();
export const seenTypes = (): readonly string[] => [...linesSeen];

export function checkLines(out: string): void {
  for (const line of out.split("\n").filter((each) => each !== "")) {
    const value = JSON.parse(line) as { readonly v?: unknown; readonly type?: unknown };
    const type = String(value.type);
    linesSeen.add(type);
    const schema = published.$defs[`line-${type}`];
    const wrong = schema === undefined ? [`there is no line of type ${type}`] : wrongIn(value, schema, type);
    if (value.v !== 1) wrong.push("v is not 1");
    if (wrong.length > 0) throw new Error(`${line}\n${wrong.join("\n")}`);
  }
}
