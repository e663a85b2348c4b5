/** `ichido conform <url>`: tries the cases of HTTP behaviour on a server from outside. */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import * as net from "node:net";
import { parseArgs } from "node:util";
import { present } from "../../core/contract/present.ts";
import { isIchidoError } from "../../core/contract/errors.ts";
import {
  conform,
  DescriptionError,
  readDescription,
  reportJunit,
  reportTable,
  type CaseResult,
  type Description,
} from "../../conform/index.ts";
import { checkOnly } from "../../conform/runner.ts";
import { UsageError, type Command, type ExitCode, type Io } from "../command.ts";
import { exitCodes, unreachable } from "../exit-codes.ts";
import { createPrinter } from "../printer.ts";

const usage = `usage: ichido conform [url] [options]

Sends requests with idempotency keys to a server and tells which rules it keeps. Run it on a test system: it makes effects.

  --config <file>          JSON description of the server; options below add to it and win
  --path <path>            the operation, such as /payments
  --method <method>        default POST
  --body <json|@file>      a body that the operation takes; {{uuid}} in it is another value for every effect
  --other-body <json|@file>  another one
  --content <text|@file>   in place of --body: a form, an upload; its type by --header
  --other-content <text|@file>  another one
  --header <"Name: value">  of every request; may be repeated
  --status <status>        how the operation answers, default 201
  --auth <"Name: value">   headers of a caller; give it twice for two callers who share nothing
  --profile <name>         ietf, stripe, adr-007 or polling; default: what the server publishes, or else ietf
  --key-form <form>        lenient, strict or bare, where it differs from the profile
  --key-optional           requests without a key run
  --effects <url>          where the number of effects can be read
  --effects-pointer <ptr>  JSON pointer to the number, such as /count
  --only <ids>             some cases: K-,H-08,F-01
  --requests-max <n>       default 600
  --strict                 cases on which APIs differ count too
  --json                   one JSON object per line
  --junit <file>           also as JUnit XML

Cases that cannot be seen with what was described are listed as not run, with the reason.

Examples:
  ichido conform http://localhost:3000 --path /payments --body '{"amount":100}' --other-body '{"amount":200}'
      a server of any make
  ichido conform --config conform.json --json
      as it was described once, for a program

Exit code: 0 every case that must pass does, 3 some do not, 6 the server cannot be reached, 2 wrong usage.
`;

const options = {
  config: { type: "string" },
  path: { type: "string" },
  method: { type: "string" },
  body: { type: "string" },
  "other-body": { type: "string" },
  content: { type: "string" },
  "other-content": { type: "string" },
  header: { type: "string", multiple: true },
  status: { type: "string" },
  auth: { type: "string", multiple: true },
  profile: { type: "string" },
  "key-form": { type: "string" },
  "key-optional": { type: "boolean" },
  effects: { type: "string" },
  "effects-pointer": { type: "string" },
  only: { type: "string" },
  "requests-max": { type: "string" },
  strict: { type: "boolean" },
  json: { type: "boolean" },
  junit: { type: "string" },
} as const;

function read(args: readonly string[]) {
  return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
}

type Values = ReturnType<typeof read>["values"];

function fileText(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`${option}: ${(error as Error).message}`);
  }
}

function jsonOf(option: string, text: string): unknown {
  try {
    return JSON.parse(textOf(option, text)) as unknown;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${option}: expected JSON (${(error as Error).message})`);
  }
}

function integerOf(option: string, text: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new UsageError(`${option}: expected a positive integer, got ${JSON.stringify(text)}`);
}

/** The text itself, or the content of the file that it names. */
const textOf = (option: string, text: string): string =>
  text.startsWith("@") ? fileText(option, text.slice(1)) : text;

function ifGiven<Value>(
  option: string,
  text: string | undefined,
  read: (option: string, text: string) => Value,
): Value | undefined {
  return text === undefined ? undefined : read(option, text);
}

function headerOf(option: string, line: string): Record<string, string> {
  const colon = line.indexOf(":");
  // The value may be a secret: it is not repeated.
  if (colon < 1) throw new UsageError(`${option}: expected "Name: value"`);
  return { [line.slice(0, colon).trim()]: line.slice(colon + 1).trim() };
}

const keyForms = ["lenient", "strict", "bare"];

/**
 * Members of the description that options set; the members of the operation and of the overrides are merged one by one.
 */
function fromOptions(values: Values): Record<string, unknown> {
  const form = values["key-form"];
  if (form !== undefined && !keyForms.includes(form)) {
    throw new UsageError(`--key-form: expected one of ${keyForms.join(", ")}, got ${JSON.stringify(form)}`);
  }
  const { profile, auth, effects } = values;
  return present({
    profile,
    keyRequired: values["key-optional"] === true ? false : undefined,
    otherBody: ifGiven("--other-body", values["other-body"], jsonOf),
    otherContent: ifGiven("--other-content", values["other-content"], textOf),
    principals: auth?.map((line) => headerOf("--auth", line)),
    effects: effects === undefined ? undefined : { url: effects, pointer: values["effects-pointer"] ?? "" },
  });
}

/** Members that also have an option: messages name the option, too. */
const optionOf: Readonly<Record<string, string>> = {
  url: "the address",
  profile: "--profile",
  "operation.path": "--path",
  "operation.method": "--method",
  "operation.status": "--status",
  "effects.url": "--effects",
};

function inOptions(message: string): string {
  const [member = ""] = message.split(":");
  const option = optionOf[member];
  return option === undefined ? message : `${option} (${member})${message.slice(member.length)}`;
}

function describe(url: string | undefined, values: Values): Description {
  const file = values.config === undefined ? {} : jsonOf("--config", `@${values.config}`);
  const base = file as Partial<Record<keyof Description, unknown>>;
  const described = base.operation as { readonly headers?: object } | undefined;
  const { header, path, method } = values;
  const headers = header?.map((line) => headerOf("--header", line));
  const operation = {
    ...described,
    ...present({
      content: ifGiven("--content", values.content, textOf),
      headers: headers && (Object.assign({}, described?.headers, ...headers) as object),
      path,
      method,
      body: ifGiven("--body", values.body, jsonOf),
      status: ifGiven("--status", values.status, integerOf),
    }),
  };
  const overrides = { ...(base.overrides as object | undefined), ...present({ keyForm: values["key-form"] }) };
  try {
    return readDescription({ ...base, ...present({ url }), ...fromOptions(values), operation, overrides });
  } catch (error) {
    if (error instanceof DescriptionError) throw new UsageError(inOptions(error.message));
    throw error;
  }
}

function onlyOf(text: string | undefined): readonly string[] | undefined {
  const only = text?.split(",");
  try {
    if (only !== undefined) checkOnly(only);
  } catch (error) {
    if (isIchidoError(error)) throw new UsageError(error.message.replace("option only", "--only"));
    throw error;
  }
  return only;
}

const connectMs = 5_000;

/** One clear message instead of one failure per case. */
async function checkReachable(url: string): Promise<void> {
  const { hostname, port, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, "");
  const socket = net.connect({ host, port: Number(port || (protocol === "https:" ? 443 : 80)), timeout: connectMs });
  socket.on("timeout", () => socket.destroy(new Error(`no connection within ${connectMs} ms`)));
  try {
    await once(socket, "connect");
  } catch (error) {
    const { message, code } = error as { readonly message: string; readonly code?: string };
    throw unreachable(`${url} cannot be reached: ${message || (code ?? "")}`, error);
  } finally {
    socket.destroy();
  }
}

async function run(args: readonly string[], io: Io): Promise<ExitCode> {
  const { values, positionals } = read(args);
  const [url, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`one address is enough, got ${positionals.length}`);
  const description = describe(url, values);
  const requestsMax = ifGiven("--requests-max", values["requests-max"], integerOf);
  const only = onlyOf(values.only);
  const print = createPrinter(io, { json: values.json === true });
  await checkReachable(description.url);
  let tried = 0;
  const onResult = (result: CaseResult): void => {
    print.line("case", result);
    print.progress((tried += 1), undefined, "cases");
  };
  const report = await conform(description, { ...present({ only, requestsMax }), onResult });
  const { results: _, ...summary } = report;
  print.line("summary", summary);
  print.raw(reportTable(report));
  if (values.junit !== undefined) writeFileSync(values.junit, reportJunit(report));
  return report.ok && !(values.strict === true && report.failed > 0) ? exitCodes.ok : exitCodes.finding;
}

export const conformCommand: Command = {
  summary: "try the rules of idempotency keys on a server, from outside",
  usage,
  run,
};
