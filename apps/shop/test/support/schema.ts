/** The part of JSON Schema that the shop's description uses. A keyword it does not know is an error, never ignored. */

type Schema = Readonly<Record<string, unknown>>;

const annotations = new Set(["description", "title"]);

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  uuid: (text) => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text),
  "date-time": (text) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(text) && !Number.isNaN(Date.parse(text)),
  uri: (text) => URL.canParse(text),
  "uri-reference": (text) => URL.canParse(text, "http://shop"),
};

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === "string",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === "object" && value !== null && !Array.isArray(value),
};

/** By keyword: whether a value that the keyword speaks of obeys it. */
const rules: Readonly<Record<string, (value: unknown, rule: never) => boolean>> = {
  type: (value, rule: string) => types[rule]?.(value) ?? false,
  enum: (value, rule: readonly unknown[]) => rule.includes(value),
  const: (value, rule: unknown) => value === rule,
  minimum: (value, rule: number) => typeof value !== "number" || value >= rule,
  maximum: (value, rule: number) => typeof value !== "number" || value <= rule,
  minLength: (value, rule: number) => typeof value !== "string" || Array.from(value).length >= rule,
  maxLength: (value, rule: number) => typeof value !== "string" || Array.from(value).length <= rule,
  pattern: (value, rule: string) => typeof value !== "string" || new RegExp(rule, "u").test(value),
  format: (value, rule: string) => typeof value !== "string" || (formats[rule]?.(value) ?? false),
};

/** What is wrong, one line each. Members that the schema does not name are wrong, unless it allows them explicitly. */
export function faultsOf(value: unknown, schema: Schema, document: Schema, place = "body"): readonly string[] {
  if (typeof schema.$ref === "string") return faultsOf(value, resolve(schema.$ref, document), document, place);
  const { properties, required, additionalProperties, items, ...plain } = schema;
  const faults = Object.entries(plain)
    .filter(([keyword]) => !annotations.has(keyword))
    .filter(([keyword, rule]) => {
      const obeys = rules[keyword];
      if (obeys === undefined) throw new Error(`${place}: the checker does not know ${keyword}`);
      return !obeys(value, rule as never);
    })
    .map(([keyword, rule]) => `${place}: ${JSON.stringify(value)} against ${keyword} ${JSON.stringify(rule)}`);
  if (Array.isArray(value) && items !== undefined) {
    return [
      ...faults,
      ...value.flatMap((each, index) => faultsOf(each, items as Schema, document, `${place}.${index}`)),
    ];
  }
  if (!types.object?.(value)) return faults;

  const members = value as Readonly<Record<string, unknown>>;
  const known = (properties ?? {}) as Readonly<Record<string, Schema>>;
  for (const name of (required ?? []) as readonly string[]) {
    if (!(name in members)) faults.push(`${place}: ${name} is missing`);
  }
  for (const [name, member] of Object.entries(members)) {
    const described = known[name];
    if (described !== undefined) faults.push(...faultsOf(member, described, document, `${place}.${name}`));
    else if (additionalProperties !== true) faults.push(`${place}: ${name} is not described`);
  }
  return faults;
}

function resolve(reference: string, document: Schema): Schema {
  const found = reference
    .replace(/^#\//, "")
    .split("/")
    .reduce<unknown>((at, name) => (at as Readonly<Record<string, unknown>> | undefined)?.[name], document);
  if (found === undefined) throw new Error(`nothing is at ${reference}`);
  return found as Schema;
}
