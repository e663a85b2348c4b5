/** Walks the export list: wherever a function takes options, one of them is misspelt, and that is never silent. */
import { readFileSync } from "node:fs";
import "reflect-metadata";
import Fastify from "fastify";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { createIchido, type Ichido } from "ichido";
import { memoryStore } from "ichido/memory";

type Call = (options: object) => unknown;
type Exported = Readonly<Record<string, (...args: never[]) => unknown>>;

const store = memoryStore();
const ichido: Ichido<never> = createIchido({ store, scope: () => ({ principal: "p" }), onUnknown: "rerun" });
const engine = { store, scope: () => ({ principal: "p" }), onUnknown: "rerun" };
const handler = (): undefined => undefined;
const route = { operation: "a" };
const runner = { dialect: "sqlite", run: () => undefined };
const on = { dialect: "sqlite", execute: async () => ({ rows: [], affected: 0 }) };
const pool = { connect: handler, query: handler, on: handler, totalCount: 0 };
/** Never connected. */
const redis = new Redis({ lazyConnect: true });
const client = { attempts: {} };

const { exports } = JSON.parse(
  readFileSync(new URL("../../packages/ichido/package.json", import.meta.url), "utf8"),
) as { readonly exports: Readonly<Record<string, unknown>> };
const subpaths = Object.keys(exports).filter((path) => path !== "./package.json");

const loaded = new Map(
  await Promise.all(
    subpaths.map(
      async (path) =>
        [path, (await import(path.replace(/^\./, "ichido"))) as Readonly<Record<string, unknown>>] as const,
    ),
  ),
);

function functionsOf(path: string): Exported {
  const all = Object.entries(loaded.get(path) ?? {}).filter(([, value]) => typeof value === "function");
  return Object.fromEntries(all) as Exported;
}

function call(path: string, name: string, ...args: readonly unknown[]): unknown {
  const fn = functionsOf(path)[name] as unknown as (...given: readonly unknown[]) => unknown;
  return fn(...args);
}

/** One right option, which is misspelt, and how the function is given it. Several where it takes several objects. */
const takers: Readonly<Record<string, Readonly<Record<string, readonly (readonly [option: string, call: Call])[]>>>> = {
  ".": {
    createIchido: [
      ["retentionMs", (o) => call(".", "createIchido", { ...engine, ...o })],
      ["lowEntropy", (o) => call(".", "createIchido", { ...engine, keyPolicy: o })],
      ["compare", (o) => call(".", "createIchido", { ...engine, fingerprint: o })],
      ["recordsMax", (o) => call(".", "createIchido", { ...engine, replayCache: o })],
      ["waitMs", (o) => call(".", "createIchido", { ...engine, inFlight: { waitMs: 5, ...o } })],
      ["onUnknown", (o) => ichido.route({ ...route, ...o })],
      ["leaseMs", (o) => ichido.run({ operation: "a", scope: { principal: "p" }, key: "k", ...o }, () => 1)],
      [
        "retentionMs",
        (o) => ichido.run({ operation: "a", scope: { principal: "p" }, key: "s" }, ({ step }) => step("a", o, () => 1)),
      ],
    ],
    createReconciler: [
      ["everyMs", (o) => call(".", "createReconciler", store, { operations: { a: { verify: handler } }, ...o })],
      ["rerun", (o) => call(".", "createReconciler", store, { operations: { a: { verify: handler, ...o } } })],
    ],
    forget: [["reason", (o) => call(".", "forget", store, { label: { name: "a", value: "b" }, actor: "a", ...o })]],
    settle: [
      ["reason", (o) => call(".", "settle", store, { record: "x", decision: { kind: "hold" }, actor: "a", ...o })],
    ],
    stepOptionsFor: [
      ["remembersMs", (o) => call(".", "stepOptionsFor", { remembers: "nothing", visibleAfterMs: 0, ...o })],
    ],
  },
  "./memory": { memoryStore: [["recordsMax", (o) => call("./memory", "memoryStore", o)]] },
  "./sqlite": {
    sqliteStore: [["lockTimeoutMs", (o) => call("./sqlite", "sqliteStore", {}, o)]],
    openSqliteStore: [["migrate", (o) => call("./sqlite", "openSqliteStore", ":memory:", o)]],
  },
  "./mysql": { mysqlStore: [["tablePrefix", (o) => call("./mysql", "mysqlStore", { query: handler }, o)]] },
  "./postgres": { postgresStore: [["tablePrefix", (o) => call("./postgres", "postgresStore", pool, o)]] },
  "./redis": {
    redisStore: [
      ["callTimeoutMs", (o) => call("./redis", "redisStore", redis, o)],
      ["replicas", (o) => call("./redis", "redisStore", redis, { wait: { timeoutMs: 5, ...o } })],
    ],
  },
  "./express": {
    captureBody: [["requestBytesMax", (o) => call("./express", "captureBody", o)]],
    idempotency: [
      ["onUnknown", (o) => call("./express", "idempotency", ichido, { ...route, ...o })],
      ["quietMs", (o) => call("./express", "idempotency", ichido, route, o)],
    ],
  },
  "./koa": {
    captureBody: [["uploadBytesMax", (o) => call("./koa", "captureBody", o)]],
    idempotency: [
      ["required", (o) => call("./koa", "idempotency", ichido, { ...route, ...o })],
      ["quietMs", (o) => call("./koa", "idempotency", ichido, route, o)],
    ],
  },
  "./hono": {
    idempotency: [
      ["methods", (o) => call("./hono", "idempotency", ichido, { ...route, ...o })],
      ["requestBytesMax", (o) => call("./hono", "idempotency", ichido, route, o)],
    ],
  },
  "./node": {
    idempotent: [
      ["profile", (o) => call("./node", "idempotent", ichido, { ...route, ...o }, handler)],
      ["quietMs", (o) => call("./node", "idempotent", ichido, route, handler, o)],
    ],
  },
  "./fetch": {
    idempotent: [
      ["labels", (o) => call("./fetch", "idempotent", ichido, { ...route, ...o }, handler)],
      ["keyField", (o) => call("./fetch", "idempotent", ichido, route, handler, o)],
    ],
    idempotentAction: [
      ["keyField", (o) => call("./fetch", "idempotentAction", ichido, { ...route, scope: handler, ...o }, handler)],
    ],
  },
  "./fastify": {
    idempotency: [
      ["quietMs", (o) => inFastify(o, {})],
      ["idempotency", (o) => inFastify({}, Object.fromEntries(Object.keys(o).map((name) => [name, route])))],
      ["operation", (o) => inFastify({}, { idempotency: { ...route, ...o } })],
    ],
  },
  "./nest": {
    Idempotent: [["retentionMs", (o) => call("./nest", "Idempotent", { ...route, ...o })]],
    IdempotencyModule: [
      ["useFactory", (o) => (functionsOf("./nest")["IdempotencyModule"] as unknown as Module).forRootAsync(o)],
    ],
    IdempotencyInterceptor: [
      [
        "quietMs",
        (o) => new (functionsOf("./nest")["IdempotencyInterceptor"] as unknown as Interceptor)({ ichido, ...o }),
      ],
    ],
    captureBody: [["requestBytesMax", (o) => call("./nest", "captureBody", {}, o)]],
  },
  "./transactions": {
    pgTransactions: [["prepare", (o) => call("./transactions", "pgTransactions", pool, o)]],
    nodeSqliteTransactions: [["lockTimeoutMs", (o) => call("./transactions", "nodeSqliteTransactions", {}, o)]],
    betterSqlite3Transactions: [["shareCommits", (o) => call("./transactions", "betterSqlite3Transactions", {}, o)]],
  },
  "./client": {
    createClient: [
      ["baseUrl", (o) => call("./client", "createClient", o)],
      ["deadlineMs", (o) => call("./client", "createClient", { retry: o })],
    ],
    createFetch: [["storage", (o) => call("./client", "createFetch", o)]],
    createAttempts: [["storage", (o) => call("./client", "createAttempts", o)]],
    compositeKey: [["principal", (o) => call("./client", "compositeKey", o)]],
  },
  "./client/node": { fileStorage: [["lockTimeoutMs", (o) => call("./client/node", "fileStorage", "/nowhere", o)]] },
  "./client/downstream": {
    downstreamHeaders: [["trustDomain", (o) => call("./client/downstream", "downstreamHeaders", {}, "a", o)]],
  },
  "./react": { attemptMutation: [["payload", (o) => call("./react", "attemptMutation", { client, ...o })]] },
  "./metrics": { createMetrics: [["statsMs", (o) => call("./metrics", "createMetrics", ichido, o)]] },
  "./policy": {
    policyOf: [
      ["scope", (o) => call("./policy", "policyOf", ichido, [{ method: "POST", path: "/a", options: route }], o)],
      ["method", (o) => call("./policy", "policyOf", ichido, [{ path: "/a", options: route, ...o }])],
    ],
    openApiFragment: [
      [
        "scope",
        (o) => call("./policy", "openApiFragment", ichido, [{ method: "POST", path: "/a", options: route }], o),
      ],
    ],
  },
  "./config": { defineConfig: [["reconciler", (o) => call("./config", "defineConfig", { ichido, ...o })]] },
  "./conform": { conform: [["requestsMax", (o) => call("./conform", "conform", { url: "http://127.0.0.1:9" }, o)]] },
  "./conform/harness": { startHarness: [["profile", (o) => call("./conform/harness", "startHarness", "express", o)]] },
  "./guards": {
    checkPreconditions: [
      ["ifNoneMatch", (o) => call("./guards", "checkPreconditions", { method: "PUT", current: undefined, ...o })],
    ],
    createByClientId: [["content", (o) => call("./guards", "createByClientId", on, { table: "t", id: 1, ...o })]],
    createOnce: [["content", (o) => call("./guards", "createOnce", on, { table: "t", key: { id: 1 }, ...o })]],
    updateVersioned: [
      [
        "column",
        (o) => call("./guards", "updateVersioned", on, { table: "t", key: { id: 1 }, version: 1, set: {}, ...o }),
      ],
    ],
    defineTransitions: [
      [
        "column",
        (o) =>
          (call("./guards", "defineTransitions", { a: ["b"] }) as Moves).move(on, {
            table: "t",
            key: { id: 1 },
            to: "b",
            ...o,
          }),
      ],
    ],
  },
  "./outbox": {
    createOutbox: [
      ["atCommit", (o) => anOutbox().add(on, { topic: "a", payload: 1 }, o)],
      ["budgetMs", (o) => anOutbox().sweep(o)],
      ["keepSentMs", (o) => call("./outbox", "createOutbox", { transactions: runner, source: "/a", topics: {}, ...o })],
      [
        "attemptsMax",
        (o) =>
          call("./outbox", "createOutbox", { transactions: runner, source: "/a", topics: { a: { to: "x", ...o } } }),
      ],
    ],
    createRelay: [
      ["drainMs", (o) => (call("./outbox", "createRelay", anOutbox(), { routes: {} }) as Stops).stop(o)],
      ["concurrency", (o) => call("./outbox", "createRelay", anOutbox(), { routes: {}, ...o })],
    ],
    pgWake: [["channel", (o) => call("./outbox", "pgWake", pool, o)]],
    postgresJsWake: [["channel", (o) => call("./outbox", "postgresJsWake", {}, o)]],
  },
  "./inbox": {
    createInbox: [
      ["redeliveryMsMax", (o) => call("./inbox", "createInbox", { transactions: runner, retentionMs: 5, ...o })],
    ],
    createConsumer: [
      ["attemptsMax", (o) => call("./inbox", "createConsumer", o)],
      [
        "leaseMs",
        (o) =>
          call("./inbox", "createConsumer", {
            subscription: {},
            inbox: call("./inbox", "createInbox", { transactions: runner, retentionMs: 5 }),
            handlers: [{ name: "a", topics: ["a"], once: handler, ...o }],
          }),
      ],
    ],
    createWebhookReceiver: [["toleranceMs", (o) => call("./inbox", "createWebhookReceiver", o)]],
  },
  "./operations": {
    diagnose: [["clientTimeoutMs", (o) => call("./operations", "diagnose", { ichido: {}, ...o })]],
    why: [["withinMs", (o) => call("./operations", "why", { ichido: {} }, o)]],
  },
  "./console": {
    console: [
      ["readOnly", (o) => call("./console", "console", ichido, o)],
      ["preflights", (o) => call("./console", "console", ichido, { doctor: o })],
    ],
    loopbackOnly: [["user", (o) => call("./console", "loopbackOnly", o)]],
  },
  "./in-process": { inProcess: [["callTimeoutMs", (o) => call("./in-process", "inProcess", o)]] },
  "./redis-streams": {
    ensureRedisStreamsGroup: [["group", (o) => call("./redis-streams", "ensureRedisStreamsGroup", redis, o)]],
    redisStreamsPublisher: [["payloadBytesMax", (o) => call("./redis-streams", "redisStreamsPublisher", redis, o)]],
    redisStreamsSubscription: [
      ["ackWaitMs", (o) => call("./redis-streams", "redisStreamsSubscription", redis, { group: "g", ...o })],
    ],
    trimRedisStreams: [["entriesMax", (o) => call("./redis-streams", "trimRedisStreams", redis, o)]],
  },
  "./nats": {
    ensureNatsConsumers: [["durable", (o) => call("./nats", "ensureNatsConsumers", o)]],
    ensureNatsStream: [["replicas", (o) => call("./nats", "ensureNatsStream", o)]],
    natsPublisher: [["subjectPrefix", (o) => call("./nats", "natsPublisher", o)]],
    natsSubscription: [["ackWaitMs", (o) => call("./nats", "natsSubscription", o)]],
  },
  "./rabbitmq": {
    ensureRabbitmqTopology: [["exchange", (o) => call("./rabbitmq", "ensureRabbitmqTopology", o)]],
    rabbitmqPublisher: [["partitions", (o) => call("./rabbitmq", "rabbitmqPublisher", o)]],
    rabbitmqSubscription: [["prefetch", (o) => call("./rabbitmq", "rabbitmqSubscription", o)]],
  },
  "./webhook": {
    webhookPublisher: [
      ["userAgent", (o) => call("./webhook", "webhookPublisher", o)],
      [
        "openAfter",
        (o) => call("./webhook", "webhookPublisher", { endpoint: "https://a.example", secret: "x", circuit: o }),
      ],
      ["secret", (o) => call("./webhook", "webhookPublisher", { endpoint: { url: "https://a.example", ...o } })],
    ],
  },
  "./testing": {
    crashAt: [["nth", (o) => call("./testing", "crashAt", "before-claim", "throw", o)]],
    createFaultProxy: [["target", (o) => call("./testing", "createFaultProxy", o)]],
    everyCrashPoint: [["points", (o) => call("./testing", "everyCrashPoint", handler, handler, o)]],
    everyStoreFault: [["verbs", (o) => call("./testing", "everyStoreFault", handler, handler, o)]],
    fakeClock: [["wallMs", (o) => call("./testing", "fakeClock", o)]],
    fakeProvider: [["slowMs", (o) => call("./testing", "fakeProvider", o)]],
    spawnChild: [["readyMs", (o) => call("./testing", "spawnChild", "/nowhere.ts", o)]],
  },
};

function anOutbox(): AnOutbox {
  return call("./outbox", "createOutbox", { transactions: runner, source: "/a", topics: {} }) as AnOutbox;
}

interface AnOutbox {
  add(handle: object, message: object, options: object): Promise<unknown>;
  sweep(options: object): Promise<unknown>;
}
interface Stops {
  stop(options: object): Promise<unknown>;
}
interface Moves {
  move(executor: object, request: object): Promise<unknown>;
}
interface Module {
  forRootAsync(options: object): unknown;
}
type Interceptor = new (options: object) => unknown;

/** Classes of errors, values made of parts, and functions that take what is no set of options. */
const without: Readonly<Record<string, string>> = {
  ".": "IchidoError RequestBodyError isIchidoError",
  "./nest": "Idempotency publishedRoutes",
  "./transactions":
    "CommitFailed drizzleTransactions fromBetterSqlite3 fromDrizzle fromKnex fromKysely fromMariadb fromMysql2 fromNodeSqlite fromPg " +
    "fromPostgres fromSequelize fromTypeorm knexTransactions kyselyTransactions mariadbTransactions mysql2Transactions " +
    "postgresTransactions sequelizeTransactions typeormTransactions",
  // `idempotentFetch` takes what `fetch` takes, which browsers add to.
  "./client":
    "ClientError UnknownOutcomeError browserStorage contentKey idempotentFetch memoryStorage tabStorage uuidV4 uuidV7",
  "./react": "fromReact",
  "./metrics": "prometheusName",
  "./node": "fromServer",
  // Takes the module of OpenTelemetry's API as it is.
  "./traces": "fromOpenTelemetry",
  "./policy": "isoDuration mergeOpenApi",
  // `readDescription` refuses what it does not know with words of its own.
  "./conform": "DescriptionError readDescription reportJunit reportTable",
  "./guards": "etagOfBytes etagOfVersion parseEntityTags versionOfEtag",
  "./operations": "verdictText",
  "./outbox": "payloadOf",
  "./inbox": "payloadOf",
  // The subjects of suites are objects of the caller's own, which may have members of their own.
  "./testing":
    "CrashError adapterSuite combineFaults countedEffects createHarness faultsFromEnv faultsToEnv faultyStore filedEffects race " +
    "reapAfterDeath sampleFingerprint sampleIdentity sampleOwner sampleResponse signatureOf storeSuite writePlan",
};

async function inFastify(options: object, config: object): Promise<unknown> {
  const app = Fastify();
  try {
    await app.register(functionsOf("./fastify")["idempotency"] as never, { ichido, ...options } as never);
    app.post("/a", { config: config as never }, handler);
    return await app.ready();
  } finally {
    await app.close();
  }
}

/** The last letter but one left out. */
const misspelt = (name: string): string => name.slice(0, -2) + name.slice(-1);

async function messageOf(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    const { code, message } = error as { readonly code?: string; readonly message: string };
    return `${String(code)} ${message}`;
  }
  return "silence";
}

test("every exported function is on one of the two lists", () => {
  for (const path of subpaths) {
    const listed = [...Object.keys(takers[path] ?? {}), ...(without[path] ?? "").split(" ").filter(Boolean)];
    expect(listed.toSorted(), path).toEqual(Object.keys(functionsOf(path)).toSorted());
  }
});

const cases = Object.entries(takers).flatMap(([path, functions]) =>
  Object.entries(functions).flatMap(([name, calls]) =>
    calls.map(([option, made]) => [path, name, option, made] as const),
  ),
);

test.each(cases)("%s %s: a misspelt %s is refused with the right name", async (_path, _name, option, made) => {
  const wrong = misspelt(option);
  const message = await messageOf(() => made({ [wrong]: 5 }));
  expect(message).toMatch(
    new RegExp(`^option-invalid option ${wrong}: .* has no such option; did you mean ${option}\\?$`),
  );
});

test.each([
  ["./express", "idempotency"],
  ["./koa", "idempotency"],
  ["./hono", "idempotency"],
  ["./node", "idempotent"],
  ["./fetch", "idempotent"],
])("%s %s without its engine says what it wants", async (path, name) => {
  expect(await messageOf(() => call(path, name, route, handler))).toMatch(
    /^option-invalid option ichido: expected the engine/,
  );
});
