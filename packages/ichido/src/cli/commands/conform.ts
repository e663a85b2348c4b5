/** `ichido conform <url>`: the cases of HTTP behaviour, tried from outside. */
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import * as net from "node:net";
import { parseArgs } from "node:util";
import {
  conform,
  DescriptionError,
  readDescription,
  reportJunit,
  reportTable,
  type Description,
} from "../../conform/index.ts";
import { UsageError, type Command, type Io } from "../command.ts";

const usage = `usage: ichido conform [url] [options]

Sends requests with idempotency keys to a server and tells which rules it keeps. Run it on a test system: it makes effects.

  --config <file>          JSON description of the server; options below add to it and win
  --path <path>            the operation, such as /payments
  --method <method>        default POST
  --body <json|@file>      a body that the operation takes
  --other-body <json|@file>  another one
  --status <status>        how the operation answers, default 201
  --auth <"Name: value">   headers of a caller; give it twice for two callers who share nothing
  --profile <name>         ietf (default), stripe, adr-007 or polling
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
Exit code: 0 every case that must pass does, 1 otherwise, 2 wrong usage.
`;

const options = {
  config: { type: "string" },
  path: { type: "string" },
  method: { type: "string" },
  body: { type: "string" },
  "other-body": { type: "string" },
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
    return JSON.parse(text.startsWith("@") ? fileText(option, text.slice(1)) : text) as unknown;
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

function headerOf(line: string): Record<string, string> {
  const colon = line.indexOf(":");
  // The value may be a secret: it is not repeated.
  if (colon < 1) throw new UsageError('--auth: expected "Name: value"');
  return { [line.slice(0, colon).trim()]: line.slice(colon + 1).trim() };
}

const keyForms = ["lenient", "strict", "bare"];

/** Members of the description that are set by options; the operation and the overrides are merged one by one. */
function fromOptions(values: Values): Record<string, unknown> {
  const form = values["key-form"];
  if (form !== undefined && !keyForms.includes(form)) {
    throw new UsageError(`--key-form: expected one of ${keyForms.join(", ")}, got ${JSON.stringify(form)}`);
  }
  return {
    ...(values.profile === undefined ? {} : { profile: values.profile }),
    ...(values["key-optional"] === true ? { keyRequired: false } : {}),
    ...(values["other-body"] === undefined ? {} : { otherBody: jsonOf("--other-body", values["other-body"]) }),
    ...(values.auth === undefined ? {} : { principals: values.auth.map(headerOf) }),
    ...(values.effects === undefined
      ? {}
      : { effects: { url: values.effects, pointer: values["effects-pointer"] ?? "" } }),
  };
}

function describe(url: string | undefined, values: Values): Description {
  const file = values.config === undefined ? {} : jsonOf("--config", `@${values.config}`);
  const base = file as Partial<Record<keyof Description, unknown>>;
  const operation = {
    ...(base.operation as object | undefined),
    ...(values.path === undefined ? {} : { path: values.path }),
    ...(values.method === undefined ? {} : { method: values.method }),
    ...(values.body === undefined ? {} : { body: jsonOf("--body", values.body) }),
    ...(values.status === undefined ? {} : { status: integerOf("--status", values.status) }),
  };
  const overrides = {
    ...(base.overrides as object | undefined),
    ...(values["key-form"] === undefined ? {} : { keyForm: values["key-form"] }),
  };
  try {
    return readDescription({
      ...base,
      ...(url === undefined ? {} : { url }),
      ...fromOptions(values),
      operation,
      overrides,
    });
  } catch (error) {
    if (error instanceof DescriptionError) throw new UsageError(error.message);
    throw error;
  }
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
    throw new Error(`${url} cannot be reached: ${message || (code ?? "")}`, { cause: error });
  } finally {
    socket.destroy();
  }
}

async function run(args: readonly string[], io: Io): Promise<number> {
  const { values, positionals } = read(args);
  const [url, ...more] = positionals;
  if (more.length > 0) throw new UsageError(`one address is enough, got ${positionals.length}`);
  const description = describe(url, values);
  await checkReachable(description.url);
  const max = values["requests-max"];
  const line = (type: string, value: object): void => io.out(`${JSON.stringify({ v: 1, type, ...value })}\n`);
  const report = await conform(description, {
    ...(values.only === undefined ? {} : { only: values.only.split(",") }),
    ...(max === undefined ? {} : { requestsMax: integerOf("--requests-max", max) }),
    ...(values.json === true ? { onResult: (result) => line("case", result) } : {}),
  });
  if (values.json === true) {
    const { results: _, ...summary } = report;
    line("summary", summary);
  } else {
    io.out(reportTable(report));
  }
  if (values.junit !== undefined) writeFileSync(values.junit, reportJunit(report));
  return report.ok && !(values.strict === true && report.failed > 0) ? 0 : 1;
}

export const conformCommand: Command = {
  summary: "try the rules of idempotency keys on a server, from outside",
  usage,
  run,
};
