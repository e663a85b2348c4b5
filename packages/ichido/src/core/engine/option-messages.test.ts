import { expect, it } from "vitest";
import { memoryStore } from "../../stores/memory/index.ts";
import { profiles } from "../contract/profiles.ts";
import { createIchido } from "./create-ichido.ts";

const sound = { store: memoryStore(), scope: () => ({ tenant: "t" }), onUnknown: "rerun", sweepMs: "off" } as const;

function messageOf(options: object, route?: object): string {
  try {
    const ichido = createIchido({ ...sound, ...options } as never);
    void ichido.close();
    if (route !== undefined) ichido.route({ operation: "op", ...route } as never);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("was accepted");
}

const withoutTimeout = { ...memoryStore(), callTimeoutMs: undefined };

it.each([
  [{ zzzzzz: 1 }, /^option zzzzzz: createIchido has no such option; it has onUnknown, profile, .*, store, .*, faults$/],
  [
    { store: { claim() {}, complete() {} } },
    "option store: expected a store such as memoryStore() or sqliteStore(database), got an object",
  ],
  [
    { store: { claim() {}, renew() {} } },
    "option store: expected a store such as memoryStore() or sqliteStore(database), got an object",
  ],
  [
    { store: { complete() {}, renew() {} } },
    "option store: expected a store such as memoryStore() or sqliteStore(database), got an object",
  ],
  [
    { store: undefined },
    "option store: expected a store such as memoryStore() or sqliteStore(database), got undefined",
  ],
  [
    { store: withoutTimeout },
    "option store: expected a store whose callTimeoutMs tells how long its calls may take, got an object",
  ],
  [
    { store: { ...withoutTimeout, callTimeoutMs: -1 } },
    "option store: expected a store whose callTimeoutMs tells how long its calls may take, got an object",
  ],
  [
    { store: { ...withoutTimeout, callTimeoutMs: Number.NaN } },
    "option store: expected a store whose callTimeoutMs tells how long its calls may take, got an object",
  ],
  [
    { scope: undefined },
    "option scope: expected a function that tells whose key it is, such as (req) => ({ tenant: req.auth.tenant, principal: req.auth.user }); to share keys among all callers on purpose set dangerouslyShareKeys: true, got undefined",
  ],
  [
    { dangerouslyShareKeys: true },
    "option dangerouslyShareKeys: expected not to be set beside scope: decide for one of them, got true",
  ],
  [
    { onUnknown: null },
    'option onUnknown: expected "rerun" (run again with the same external references), "hold" (a person settles it) or { verify } (a function that finds out); there is no default because only you know whether running twice is worse than waiting, got null',
  ],
  [{ onUnknown: { verify: () => 1, zzzzzz: 1 } }, "option zzzzzz: onUnknown has no such option; it has verify"],
  [
    { profile: { ...profiles.ietf, header: undefined } },
    "option profile.header: expected a value (spread a built-in profile), got undefined",
  ],
  [{ profile: { ...profiles.ietf, zzzzzz: 1 } }, /^option zzzzzz: profile has no such option; it has name, header/],
  [{ inFlight: null }, 'option inFlight: expected "conflict" or "accepted", got null'],
  [{ inFlight: { waitMs: 5, zzzzzz: 1 } }, "option zzzzzz: inFlight has no such option; it has waitMs"],
  [{ keyPolicy: { zzzzzz: 1 } }, "option zzzzzz: keyPolicy has no such option; it has personalData, lowEntropy"],
  [
    { keyPolicy: { lowEntropy: "no" } },
    'option keyPolicy.lowEntropy: expected "allow" or "warn" or "refuse", got "no"',
  ],
  [
    { keyPolicy: { personalData: "no" } },
    'option keyPolicy.personalData: expected "allow" or "warn" or "refuse", got "no"',
  ],
  [{ fingerprint: { zzzzzz: 1 } }, "option zzzzzz: fingerprint has no such option; it has fields, compare"],
  [
    { fingerprint: { fields: "amount" } },
    'option fingerprint.fields: expected a non-empty array of member names, got "amount"',
  ],
  [
    { fingerprint: { fields: { length: 1, every: () => true } } },
    "option fingerprint.fields: expected a non-empty array of member names, got an object",
  ],
  [
    { fingerprint: { fields: ["a", ""] } },
    "option fingerprint.fields: expected a non-empty array of member names, got an array",
  ],
  [
    { fingerprint: { fields: ["a", 7] } },
    "option fingerprint.fields: expected a non-empty array of member names, got an array",
  ],
  [{ fingerprint: { compare: "loose" } }, 'option fingerprint.compare: expected "semantic" or "bytes", got "loose"'],
  [
    { fingerprint: { compare: "bytes", fields: ["a"] } },
    'option fingerprint.fields: expected not to be set beside compare: "bytes", which compares whole bodies, got an array',
  ],
  [{ replayCache: null }, "option replayCache: expected an object with bounds, got null"],
  [{ replayCache: 5 }, "option replayCache: expected an object with bounds, got 5"],
  [{ replayCache: { zzzzzz: 1 } }, "option zzzzzz: replayCache has no such option; it has recordsMax, bytesMax"],
  [{ attemptLog: true }, "option attemptLog: expected false, or an object of options, got true"],
  [{ attemptLog: null }, "option attemptLog: expected false, or an object of options, got null"],
  [{ attemptLog: { askedBy: 1 } }, "option attemptLog.askedBy: expected a function, got 1"],
  [
    { attemptLog: { zzzzzz: 1 } },
    "option zzzzzz: attemptLog has no such option; it has askedBy, flushMs, queueMax, suspectWithinMs",
  ],
  [{ transactions: {} }, "option transactions: expected a runner such as pgTransactions(pool), got an object"],
  [
    { transactions: { dialect: "postgres", run: () => 1 } },
    'option transactions: expected a runner for the database that holds the keys (no database that can join a transaction), got "postgres"',
  ],
  [
    {
      store: { ...memoryStore(), capabilities: { ...memoryStore().capabilities, transactions: "sqlite" } },
      transactions: { dialect: "postgres", run: () => 1 },
    },
    'option transactions: expected a runner for the database that holds the keys (sqlite), got "postgres"',
  ],
  [{ problemBase: 7 }, "option problemBase: expected a URI, got 7"],
  [{ docsUrl: "" }, 'option docsUrl: expected a URI, got ""'],
  [{ probes: { bank: 1 } }, "option probes.bank: expected a function, got 1"],
  [{ labels: 1 }, "option labels: expected a function, got 1"],
  [{ keep: 1 }, "option keep: expected a function, got 1"],
  [{ statusUrl: 1 }, "option statusUrl: expected a function, got 1"],
  [{ formatProblem: 1 }, "option formatProblem: expected a function, got 1"],
  [{ onEvent: 1 }, "option onEvent: expected a function, got 1"],
  [{ faults: 1 }, "option faults: expected a function, got 1"],
  [{ enforce: 1 }, "option enforce: expected true or false, got 1"],
  [{ logger: 1 }, /^option logger: expected /],
  [
    { store: { ...memoryStore(), name: "own", callTimeoutMs: 500 }, storeTimeoutMs: 500 },
    "option storeTimeoutMs: expected more than the own store's own callTimeoutMs (500), which you may lower, got 500",
  ],
] as [object, string | RegExp][])("%o is refused with a sentence that says what is expected", (options, message) => {
  expect(messageOf(options)).toEqual(message instanceof RegExp ? expect.stringMatching(message) : message);
});

it.each([
  [
    { zzzzzz: 1 },
    /^option zzzzzz: a route has no such option; it has onUnknown, .*, operation, .*, dangerouslyRunWithoutStore$/,
  ],
  [{ methods: [] }, "option methods: expected a non-empty array of methods, got an array"],
  [{ methods: "POST" }, 'option methods: expected a non-empty array of methods, got "POST"'],
  [{ methods: ["POST", 7] }, "option methods: expected methods in upper case, got 7"],
  [{ methods: ["1POST"] }, 'option methods: expected methods in upper case, got "1POST"'],
  [{ methods: ["POST1"] }, 'option methods: expected methods in upper case, got "POST1"'],
  [{ methods: ["POST", "post"] }, 'option methods: expected methods in upper case, got "post"'],
  ...["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"].map((method) => [
    { methods: [method] },
    `option methods: expected unsafe methods only: safe ones have no effect to protect, got "${method}"`,
  ]),
  [{ required: 1 }, "option required: expected true or false, got 1"],
  [{ scope: 1 }, "option scope: expected a function, got 1"],
  [{ mode: "saga" }, 'option mode: expected "lease" or "transaction", got "saga"'],
  [
    { mode: "transaction" },
    'option mode: expected "transaction" only beside the engine\'s option transactions, got "transaction"',
  ],
  [{ dangerouslyRunWithoutStore: 1 }, "option dangerouslyRunWithoutStore: expected true or false, got 1"],
  [
    { inFlight: "accepted" },
    "option statusUrl: expected a function that gives the address where a caller of a 202 asks for the outcome, such as (id) => `/operations/${id}`, got undefined",
  ],
] as [object, string | RegExp][])("the route %o is refused likewise", (route, message) => {
  expect(messageOf({}, route)).toEqual(message instanceof RegExp ? expect.stringMatching(message) : message);
});

it("a route in transaction mode needs a store that can claim inside a transaction", () => {
  const store = {
    ...memoryStore(),
    name: "own",
    capabilities: { ...memoryStore().capabilities, transactions: "sqlite" },
  };
  const transactions = { dialect: "sqlite", run: () => 1 };
  expect(messageOf({ store, transactions }, { mode: "transaction" })).toBe(
    'option mode: expected "lease" with the own store, which cannot claim inside a transaction, got "transaction"',
  );
});
