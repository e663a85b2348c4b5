/** `ichido openapi <file>`: what a document says about keys, checked against what the program does. */
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { mergeOpenApi, openApiFragment, type OpenApiFragment } from "../../policy/index.ts";
import { defineCommand, jsonFlag, UsageError } from "../command.ts";
import { CommandError, exitCodes } from "../exit-codes.ts";
import { firstInstalled, memberOf } from "../installed.ts";
import { findConfig } from "../config-file.ts";
import { projectFlags } from "../project.ts";

type Json = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

async function parse(text: string, file: string): Promise<Json> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (error) {
    if (!/\.ya?ml$/i.test(file)) throw new CommandError("error", `${file} is no JSON: ${(error as Error).message}`);
    const { name, module } = await firstInstalled(["yaml", "js-yaml"], "a document in YAML");
    parsed = memberOf<(text: string) => unknown>(module, name === "yaml" ? "parse" : "load")(text);
  }
  if (isObject(parsed) && (isObject(parsed["paths"]) || isObject(parsed["webhooks"]))) return parsed;
  throw new CommandError("error", `${file} is no OpenAPI document: it has no paths`);
}

interface Checked {
  readonly method: string;
  readonly path: string;
  /** `none`: it says that it takes no keys. `unread`: what it says stands elsewhere. */
  readonly policy: "stated" | "none" | "missing" | "differs" | "unread";
  readonly what?: string;
}

/** `x-idempotency: false` says that the operation takes no keys on purpose. */
function checkOperation(stated: unknown, published: unknown): Pick<Checked, "policy" | "what"> {
  if (published !== undefined && !isDeepStrictEqual(stated, published)) {
    const parts =
      isObject(stated) && isObject(published)
        ? Object.keys(published).filter((name) => !isDeepStrictEqual(stated[name], published[name]))
        : [];
    const what =
      stated === undefined
        ? "the program protects it, the document does not say so"
        : `the program differs in ${parts.join(", ") || "all"}`;
    return { policy: stated === undefined ? "missing" : "differs", what };
  }
  if (stated === false) return { policy: "none" };
  return isObject(stated) ? { policy: "stated" } : { policy: "missing", what: "it has no x-idempotency" };
}

const keyed = ["post", "patch"];
const methods = [...keyed, "put", "delete"];

const refsMax = 20;

/** What a reference inside the document names; undefined: nothing, or what stands in another file. */
function named(document: Json, ref: unknown): Json | undefined {
  if (typeof ref !== "string" || !/^#(?:\/|$)/.test(ref)) return undefined;
  let found: unknown = document;
  for (const part of ref.split("/").slice(1)) {
    const name = unescaped(part);
    found = isObject(found) && Object.hasOwn(found, name) ? found[name] : undefined;
  }
  return isObject(found) ? found : undefined;
}

function unescaped(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return part;
  }
}

/** An item with what it refers to; where that cannot be read, the reference. What stands beside a reference wins. */
function itemOf(document: Json, item: unknown): { readonly item: Json; readonly unread?: string } {
  let whole: Json = isObject(item) ? item : {};
  for (let refs = 0; whole["$ref"] !== undefined; refs += 1) {
    const { $ref, ...beside } = whole;
    const target = refs < refsMax ? named(document, $ref) : undefined;
    if (target === undefined) return { item: beside, unread: typeof $ref === "string" ? $ref : "$ref" };
    whole = { ...target, ...beside };
  }
  return { item: whole };
}

type Published = OpenApiFragment["paths"][string] | undefined;

function checkItem(document: Json, path: string, given: unknown, published: Published): readonly Checked[] {
  const { item, unread } = itemOf(document, given);
  const checked: Checked[] = [];
  if (unread !== undefined) {
    const what = `${unread} names nothing in this document: bundle it into one`;
    checked.push({ method: "ANY", path, policy: "unread", what });
  }
  for (const method of methods) {
    const operation = item[method];
    const own = published?.[method]?.["x-idempotency"];
    if (operation === undefined && own === undefined) continue;
    const stated = isObject(operation) ? operation["x-idempotency"] : undefined;
    // A PUT or DELETE needs no key; but what it says of one has to be true.
    if (!keyed.includes(method) && stated === undefined && own === undefined) continue;
    checked.push({ method: method.toUpperCase(), path, ...checkOperation(stated, own) });
  }
  return checked;
}

function check(document: Json, fragment: OpenApiFragment | undefined): readonly Checked[] {
  const membersOf = (name: string): Json => (isObject(document[name]) ? document[name] : {});
  const paths = {
    ...Object.fromEntries(Object.keys(fragment?.paths ?? {}).map((path) => [path, {}])),
    ...membersOf("paths"),
  };
  return [
    ...Object.entries(paths).flatMap(([path, item]) => checkItem(document, path, item, fragment?.paths[path])),
    ...Object.entries(membersOf("webhooks")).flatMap(([name, item]) =>
      checkItem(document, `webhook ${name}`, item, undefined),
    ),
  ];
}

export const openapiCommand = defineCommand({
  name: "openapi",
  summary: "check an OpenAPI document for operations without a stated policy",
  args: "<file>",
  argsMax: 1,
  about: `
With --check: every POST and PATCH of the document's paths and webhooks must say what it does with keys, in x-idempotency as
ichido/policy writes it, or x-idempotency: false where it takes none. References within the document are followed; a path
that stands in another file is a finding, since nothing of it was read: bundle the document first. With the configuration's
routes the document must also say what the program does. Without --check: prints the document with the policy of these
routes in it.`,
  flags: {
    check: { type: "boolean", says: "tells what is missing, and changes nothing" },
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido openapi --check openapi.json", "in CI"],
    ["ichido openapi openapi.json > with-policy.json", "writes the policy of the configuration's routes into it"],
  ],
  exits:
    "0 every POST and PATCH states its policy, 3 some do not, cannot be read, or say what the program does not do.",
  async run({ flags, args: [file], io, print, open }) {
    if (file === undefined) throw new UsageError("name an OpenAPI document");
    let text: string;
    try {
      text = readFileSync(file, "utf8");
    } catch (error) {
      throw new UsageError((error as Error).message);
    }
    const document = await parse(text, file);
    // The check alone needs no program.
    const hasConfig =
      flags.config !== undefined || io.env["ICHIDO_CONFIG"] !== undefined || findConfig(io.cwd) !== undefined;
    const { ichido, routes } = hasConfig && flags.store === undefined ? await open() : {};
    const fragment = ichido === undefined || routes === undefined ? undefined : openApiFragment(ichido, routes);
    if (flags.check !== true) {
      if (fragment === undefined)
        throw new UsageError("the configuration names no routes, so there is nothing to write; or give --check");
      io.out(`${JSON.stringify(mergeOpenApi(document, fragment), undefined, 2)}\n`);
      return exitCodes.ok;
    }
    const checked = check(document, fragment);
    const wrong = checked.filter(({ policy }) => policy !== "stated" && policy !== "none");
    print.rows("operation", print.json ? checked : wrong, [
      { head: "METHOD", cell: ({ method }) => method },
      { head: "PATH", cell: ({ path }) => path, whole: true },
      { head: "POLICY", cell: ({ policy }) => policy, style: () => "red" },
      { head: "", cell: ({ what }) => what },
    ]);
    print.line("summary", { checked: checked.length, wrong: wrong.length });
    print.note(
      wrong.length === 0
        ? `${checked.length} operations, each with its policy`
        : `${wrong.length} of ${checked.length} operations need a look`,
    );
    return wrong.length === 0 ? exitCodes.ok : exitCodes.finding;
  },
});
