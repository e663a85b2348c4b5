/** The options of an engine and of its routes, checked once, at construction. */
import { defaults, limits } from "../contract/defaults.ts";
import { systemEnvironment, type Environment } from "../contract/environment.ts";
import type { IchidoListener } from "../contract/events.ts";
import type { FaultPoint } from "../contract/faults.ts";
import { loggerOption, type Logger } from "../contract/logger.ts";
import {
  booleanOption,
  integerOption,
  knownOptions,
  oneOfOption,
  optionalFunction,
  optionInvalid,
  type OptionNames,
} from "../contract/option-checks.ts";
import type { AttemptLogSettings } from "./attempt-log.ts";
import { createConsoleLink, type ConsoleLink } from "./console-link.ts";
import type {
  AttemptLogOptions,
  FingerprintOptions,
  IchidoOptions,
  InFlight,
  KeyPolicy,
  OnUnknown,
  ResolvedRoute,
  RouteOptions,
  SharedOptions,
} from "../contract/options.ts";
import { createOperationIds, type OperationIds } from "../request/operation-id.ts";
import type { ProblemFormat } from "../contract/problem.ts";
import { profiles, type Profile, type ProfileName } from "../contract/profiles.ts";
import { keepsByDefault } from "./recorder.ts";
import type { ScopeLike } from "../contract/record.ts";
import type { Store } from "../contract/store.ts";
import type { Tracing } from "../contract/tracing.ts";
import type { TransactionRunner } from "../contract/transaction.ts";

const sharedNames: OptionNames<SharedOptions<never>> = {
  onUnknown: true,
  profile: true,
  leaseMs: true,
  retentionMs: true,
  bodyBytesMax: true,
  inFlight: true,
  labels: true,
  keyPolicy: true,
  fingerprint: true,
  keep: true,
  enforce: true,
  statusUrl: true,
};

const routeNames: OptionNames<RouteOptions<never>> = {
  ...sharedNames,
  operation: true,
  scope: true,
  required: true,
  methods: true,
  mode: true,
  dangerouslyRunWithoutStore: true,
};

const engineNames: OptionNames<IchidoOptions<never>> = {
  ...sharedNames,
  store: true,
  scope: true,
  dangerouslyShareKeys: true,
  operationIdSecret: true,
  consoleUrl: true,
  problemBase: true,
  docsUrl: true,
  transactions: true,
  formatProblem: true,
  storeTimeoutMs: true,
  executionMs: true,
  transactionMs: true,
  verifyMs: true,
  closeMs: true,
  sweepMs: true,
  waitersMax: true,
  replayCache: true,
  attemptLog: true,
  release: true,
  processName: true,
  probes: true,
  onEvent: true,
  tracing: true,
  logger: true,
  environment: true,
  faults: true,
};

function onUnknownOf(value: unknown): OnUnknown {
  if (value === "rerun" || value === "hold") return value;
  if (typeof value === "object" && value !== null && typeof (value as { verify?: unknown }).verify === "function") {
    const asked = value as Exclude<OnUnknown, string>;
    knownOptions("onUnknown", asked, { verify: true });
    return asked;
  }
  throw optionInvalid(
    "onUnknown",
    '"rerun" (run again with the same external references), "hold" (a person settles it) or { verify } ' +
      "(a function that finds out); there is no default because only you know whether running twice is worse than waiting",
    value,
  );
}

function profileOf(value: ProfileName | Profile | undefined): Profile {
  if (typeof value === "object" && value !== null) {
    knownOptions("profile", value, profiles.ietf as never);
    for (const name of Object.keys(profiles.ietf) as (keyof Profile)[]) {
      if (value[name] === undefined)
        throw optionInvalid(`profile.${name}`, "a value (spread a built-in profile)", undefined);
    }
    return { ...value, header: value.header.toLowerCase() };
  }
  const name = oneOfOption("profile", value ?? defaults.profile, Object.keys(profiles) as ProfileName[]);
  return profiles[name];
}

function inFlightOf(value: InFlight | undefined, profile: Profile): InFlight {
  if (value === undefined) return profile.inFlight;
  if (typeof value === "object" && value !== null) {
    knownOptions("inFlight", value, { waitMs: true });
    return { waitMs: integerOption("inFlight.waitMs", value.waitMs, 1, limits.waitMsMax) };
  }
  return oneOfOption("inFlight", value, ["conflict", "accepted"]);
}

function keyPolicyOf(value: KeyPolicy | undefined): Required<KeyPolicy> {
  const levels = ["allow", "warn", "refuse"] as const;
  if (value !== undefined) knownOptions("keyPolicy", value, { personalData: true, lowEntropy: true });
  return {
    personalData: oneOfOption("keyPolicy.personalData", value?.personalData ?? "warn", levels),
    lowEntropy: oneOfOption("keyPolicy.lowEntropy", value?.lowEntropy ?? "allow", levels),
  };
}

function fingerprintOptionsOf(value: SharedOptions<never>["fingerprint"]): ResolvedRoute<never>["fingerprint"] {
  if (value !== undefined) knownOptions<FingerprintOptions>("fingerprint", value, { fields: true, compare: true });
  const fields = value?.fields;
  if (fields !== undefined) {
    const sound =
      Array.isArray(fields) && fields.length > 0 && fields.every((each) => typeof each === "string" && each !== "");
    if (!sound) throw optionInvalid("fingerprint.fields", "a non-empty array of member names", fields);
  }
  const compare = oneOfOption("fingerprint.compare", value?.compare ?? "semantic", ["semantic", "bytes"]);
  if (fields !== undefined && compare === "bytes") {
    throw optionInvalid(
      "fingerprint.fields",
      'not to be set beside compare: "bytes", which compares whole bodies',
      fields,
    );
  }
  return { fields, compare };
}

/** The engine's own settings are resolved under this name: a route may still add what they lack. */
export const engineWideOperation = "ichido.engine";

const protectedMethods = ["POST", "PATCH"];

function methodsOf(value: readonly string[] | undefined): ReadonlySet<string> {
  const methods = value ?? protectedMethods;
  if (!Array.isArray(methods) || methods.length === 0)
    throw optionInvalid("methods", "a non-empty array of methods", value);
  for (const method of methods as readonly unknown[]) {
    if (typeof method !== "string" || !/^[A-Z]+$/.test(method))
      throw optionInvalid("methods", "methods in upper case", method);
    if (["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"].includes(method)) {
      throw optionInvalid("methods", "unsafe methods only: safe ones have no effect to protect", method);
    }
  }
  return new Set(methods as readonly string[]);
}

function checkShared<Native>(options: Partial<SharedOptions<Native>>): void {
  optionalFunction("labels", options.labels);
  optionalFunction("keep", options.keep);
  optionalFunction("statusUrl", options.statusUrl);
}

export function resolveRoute<Native>(
  engine: SharedOptions<Native>,
  route: RouteOptions<Native>,
): ResolvedRoute<Native> {
  knownOptions("a route", route, routeNames);
  const { operation } = route;
  if (typeof operation !== "string" || operation === "" || operation.length > limits.operationLengthMax) {
    throw optionInvalid(
      "operation",
      `a name of 1 to ${limits.operationLengthMax} characters such as "payment.create"`,
      operation,
    );
  }
  checkShared(route);
  optionalFunction("scope", route.scope);
  const set = { ...engine, ...route };
  const profile = profileOf(set.profile);
  const leaseMs = integerOption("leaseMs", set.leaseMs ?? defaults.leaseMs, limits.leaseMsMin, limits.leaseMsMax);
  const retentionMs = integerOption(
    "retentionMs",
    set.retentionMs ?? defaults.retentionMs,
    limits.retentionMsMin,
    limits.retentionMsMax,
  );
  const inFlight = inFlightOf(set.inFlight, profile);
  if (inFlight === "accepted" && set.statusUrl === undefined && route.operation !== engineWideOperation) {
    throw optionInvalid(
      "statusUrl",
      "a function that gives the address where a caller of a 202 asks for the outcome, such as (id) => `/operations/${id}`",
      set.statusUrl,
    );
  }
  const methods = methodsOf(route.methods);
  const required = route.required === undefined ? undefined : booleanOption("required", route.required);
  const requiredFor = [...methods].filter((method) => required ?? protectedMethods.includes(method));
  return {
    operation,
    scope: route.scope,
    requiredFor: new Set(requiredFor),
    methods,
    onUnknown: onUnknownOf(set.onUnknown),
    profile,
    leaseMs,
    retentionMs,
    bodyBytesMax: integerOption("bodyBytesMax", set.bodyBytesMax ?? defaults.bodyBytesMax, 0, limits.bodyBytesMaxMax),
    inFlight,
    labels: set.labels,
    keyPolicy: keyPolicyOf(set.keyPolicy),
    fingerprint: fingerprintOptionsOf(set.fingerprint),
    keep: set.keep ?? keepsByDefault(profile),
    enforce: booleanOption("enforce", set.enforce ?? defaults.enforce),
    statusUrl: set.statusUrl,
    mode: oneOfOption("mode", route.mode ?? "lease", ["lease", "transaction"]),
    dangerouslyRunWithoutStore: booleanOption("dangerouslyRunWithoutStore", route.dangerouslyRunWithoutStore ?? false),
  };
}

/** The engine's own settings, checked and completed. */
export interface ResolvedEngine<Native> {
  readonly store: Store;
  /** Absent: keys are shared by all callers. */
  readonly scope: ((request: Native) => ScopeLike) | undefined;
  readonly shared: SharedOptions<Native>;
  readonly format: ProblemFormat;
  readonly operationIds: OperationIds;
  readonly link: ConsoleLink;
  readonly transactions: TransactionRunner<unknown> | undefined;
  readonly storeTimeoutMs: number;
  readonly executionMs: number;
  readonly transactionMs: number;
  readonly verifyMs: number;
  readonly closeMs: number;
  readonly sweepMs: number | "off";
  readonly waitersMax: number;
  readonly replayCache: { readonly recordsMax: number; readonly bytesMax: number } | undefined;
  readonly attemptLog:
    | (AttemptLogSettings & { readonly askedBy: AttemptLogOptions<Native>["askedBy"] | undefined })
    | undefined;
  readonly onEvent: IchidoListener | undefined;
  readonly tracing: Tracing | undefined;
  readonly logger: Logger | undefined;
  readonly environment: Environment;
  readonly faults: FaultPoint | undefined;
}

function storeOf(value: unknown): Store {
  const store = value as Partial<Store> | undefined;
  if (typeof store?.claim !== "function" || typeof store.complete !== "function" || typeof store.renew !== "function") {
    throw optionInvalid("store", "a store such as memoryStore() or sqliteStore(database)", value);
  }
  if (typeof store.callTimeoutMs !== "number" || !(store.callTimeoutMs >= 0)) {
    throw optionInvalid("store", "a store whose callTimeoutMs tells how long its calls may take", value);
  }
  return store as Store;
}

/** The other way round, a claim that was given up could be granted afterwards, and lock its key while nothing runs. */
export function storeTimeoutOf(value: number | undefined, { name, callTimeoutMs }: Store): number {
  if (value === undefined) return Math.max(defaults.storeTimeoutMs, callTimeoutMs + limits.storeSlackMs);
  const storeTimeoutMs = integerOption("storeTimeoutMs", value, 10, limits.storeTimeoutMsMax);
  if (storeTimeoutMs > callTimeoutMs) return storeTimeoutMs;
  throw optionInvalid(
    "storeTimeoutMs",
    `more than the ${name} store's own callTimeoutMs (${callTimeoutMs}), which you may lower`,
    value,
  );
}

function replayCacheOf(value: IchidoOptions<never>["replayCache"]): ResolvedEngine<never>["replayCache"] {
  if (value === undefined) return undefined;
  if (typeof value !== "object" || value === null) throw optionInvalid("replayCache", "an object with bounds", value);
  knownOptions("replayCache", value, { recordsMax: true, bytesMax: true });
  const { recordsMax = limits.replayCacheRecords, bytesMax = limits.replayCacheBytes } = value;
  return {
    recordsMax: integerOption("replayCache.recordsMax", recordsMax, 1, 10_000_000),
    bytesMax: integerOption("replayCache.bytesMax", bytesMax, 1_024, 2 ** 40),
  };
}

function nameOption(option: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value !== "" && value.length <= limits.askedByLengthMax) return value;
  throw optionInvalid(option, `a text of 1 to ${limits.askedByLengthMax} characters`, value);
}

function attemptLogOf<Native>(options: IchidoOptions<Native>): ResolvedEngine<Native>["attemptLog"] {
  const release = nameOption("release", options.release);
  const processName = nameOption("processName", options.processName);
  const value: unknown = options.attemptLog;
  if (value === false) return undefined;
  if (value !== undefined && (typeof value !== "object" || value === null)) {
    throw optionInvalid("attemptLog", "false, or an object of options", value);
  }
  const given: AttemptLogOptions<Native> = value ?? {};
  knownOptions("attemptLog", given, { askedBy: true, flushMs: true, queueMax: true, suspectWithinMs: true });
  optionalFunction("attemptLog.askedBy", given.askedBy);
  const { flushMs, queueMax, suspectWithinMs } = { ...defaults, ...given };
  return {
    release,
    processName,
    askedBy: given.askedBy,
    flushMs: integerOption("attemptLog.flushMs", flushMs, 10, 60_000),
    queueMax: integerOption("attemptLog.queueMax", queueMax, 1, 1_000_000),
    suspectWithinMs: integerOption("attemptLog.suspectWithinMs", suspectWithinMs, 0, 24 * 3_600_000),
  };
}

function transactionsOf(
  value: TransactionRunner<unknown> | undefined,
  store: Store,
): TransactionRunner<unknown> | undefined {
  if (value === undefined) return undefined;
  if (typeof value.run !== "function")
    throw optionInvalid("transactions", "a runner such as pgTransactions(pool)", value);
  if (store.capabilities.transactions !== value.dialect) {
    const kept = store.capabilities.transactions || "no database that can join a transaction";
    throw optionInvalid("transactions", `a runner for the database that holds the keys (${kept})`, value.dialect);
  }
  return value;
}

/** What is given is not shown. */
function secretOf(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "string" && value.length >= limits.secretLengthMin) return value;
  const expected = `a secret of at least ${limits.secretLengthMin} characters, the same in every process`;
  throw optionInvalid("operationIdSecret", expected, typeof value === "string" ? `${value.length} characters` : value);
}

/** A link goes into logs and chats: without a secret its key could be read from it, or it would end with the process. */
function consoleUrlOf(value: unknown, secret: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const isUrl = typeof value === "string" && /^https?:/.test(URL.parse(value)?.protocol ?? "");
  if (!isUrl || /[?#]/.test(value))
    throw optionInvalid("consoleUrl", "an http or https address without ? and #", value);
  if (secret === undefined)
    throw optionInvalid("consoleUrl", "operationIdSecret beside it, which seals the keys in its links", value);
  return value;
}

export function resolveEngine<Native>(options: IchidoOptions<Native>): ResolvedEngine<Native> {
  knownOptions("createIchido", options, engineNames);
  const store = storeOf(options.store);
  if (options.dangerouslyShareKeys === true) {
    if (options.scope !== undefined) {
      throw optionInvalid("dangerouslyShareKeys", "not to be set beside scope: decide for one of them", true);
    }
  } else if (typeof (options as { scope?: unknown }).scope !== "function") {
    throw optionInvalid(
      "scope",
      "a function that tells whose key it is, such as (req) => ({ tenant: req.auth.tenant, principal: req.auth.user }); " +
        "to share keys among all callers on purpose set dangerouslyShareKeys: true",
      (options as { scope?: unknown }).scope,
    );
  }
  optionalFunction("formatProblem", options.formatProblem);
  optionalFunction("onEvent", options.onEvent);
  optionalFunction("faults", options.faults);
  for (const name of ["problemBase", "docsUrl"] as const) {
    const value = options[name];
    if (value !== undefined && (typeof value !== "string" || value === "")) throw optionInvalid(name, "a URI", value);
  }
  for (const [name, probe] of Object.entries(options.probes ?? {})) optionalFunction(`probes.${name}`, probe);
  checkShared(options);
  // The shared settings are checked by resolving a route with them, so that a bad one fails here and not at first use.
  resolveRoute(options, { operation: engineWideOperation });
  const hour = 3_600_000;
  const secret = secretOf(options.operationIdSecret);
  const attemptLog = attemptLogOf(options);
  const executionMs = integerOption("executionMs", options.executionMs ?? defaults.executionMs, 100, 24 * hour);
  const transactionMs = options.transactionMs ?? Math.min(defaults.transactionMs, executionMs);
  return {
    store,
    scope: options.scope,
    shared: options,
    format: {
      problemBase: options.problemBase ?? defaults.problemBase,
      docsUrl: options.docsUrl,
      formatProblem: options.formatProblem,
    },
    operationIds: createOperationIds(secret),
    link: createConsoleLink(
      consoleUrlOf(options.consoleUrl, secret),
      secret,
      attemptLog !== undefined,
      options.environment,
    ),
    transactions: transactionsOf(options.transactions, store),
    storeTimeoutMs: storeTimeoutOf(options.storeTimeoutMs, store),
    executionMs,
    transactionMs: integerOption("transactionMs", transactionMs, 100, executionMs),
    verifyMs: integerOption("verifyMs", options.verifyMs ?? defaults.verifyMs, 10, 10 * 60_000),
    closeMs: integerOption("closeMs", options.closeMs ?? defaults.closeMs, 0, hour),
    sweepMs:
      options.sweepMs === "off"
        ? "off"
        : integerOption("sweepMs", options.sweepMs ?? defaults.sweepMs, 50, 7 * 24 * hour),
    waitersMax: integerOption("waitersMax", options.waitersMax ?? defaults.waitersMax, 0, 1_000_000),
    replayCache: replayCacheOf(options.replayCache),
    attemptLog,
    onEvent: options.onEvent,
    tracing: options.tracing,
    logger: options.logger === undefined ? undefined : loggerOption("logger", options.logger),
    environment: options.environment ?? systemEnvironment,
    faults: options.faults,
  };
}
