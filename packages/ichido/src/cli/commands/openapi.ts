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
  if (isObject(parsed) && isObject(parsed["paths"])) return parsed;
  throw new CommandError("error", `${file} is no OpenAPI document: it has no paths`);
}

interface Checked {
  readonly method: string;
  readonly path: string;
  /** `none`: it says that it takes no keys. */
  readonly policy: "stated" | "none" | "missing" | "differs";
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

function check(document: Json, fragment: OpenApiFragment | undefined): readonly Checked[] {
  const checked: Checked[] = [];
  const paths = {
    ...Object.fromEntries(Object.keys(fragment?.paths ?? {}).map((path) => [path, {}])),
    ...(document["paths"] as Json),
  };
  for (const [path, item] of Object.entries(paths)) {
    for (const method of methods) {
      const operation = isObject(item) ? item[method] : undefined;
      const published = fragment?.paths[path]?.[method]?.["x-idempotency"];
      if (operation === undefined && published === undefined) continue;
      const stated = isObject(operation) ? operation["x-idempotency"] : undefined;
      // A PUT or DELETE needs no key; but what it says of one has to be true.
      if (!keyed.includes(method) && stated === undefined && published === undefined) continue;
      checked.push({ method: method.toUpperCase(), path, ...checkOperation(stated, published) });
    }
  }
  return checked;
}

export const openapiCommand = defineCommand({
  name: "openapi",
  summary: "check an OpenAPI document for operations without a stated policy",
  args: "<file>",
  argsMax: 1,
  about: `
With --check: every POST and PATCH of the document must say what it does with keys, in x-idempotency as ichido/policy writes
it, or x-idempotency: false where it takes none. With the configuration's routes the document must also say what the program
does. Without --check: prints the document with the policy of these routes in it.`,
  flags: {
    check: { type: "boolean", says: "tells what is missing, and changes nothing" },
    ...jsonFlag,
    ...projectFlags,
  },
  examples: [
    ["ichido openapi --check openapi.json", "in CI"],
    ["ichido openapi openapi.json > with-policy.json", "writes the policy of the configuration's routes into it"],
  ],
  exits: "0 every POST and PATCH states its policy, 3 some do not, or say what the program does not do.",
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
    const wrong = checked.filter(({ policy }) => policy === "missing" || policy === "differs");
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
