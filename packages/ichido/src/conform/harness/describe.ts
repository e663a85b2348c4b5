/** The harness, described for `conform`: everything that can be observed on it, under each profile. */
import type { ProfileName } from "../../core/contract/profiles.ts";
import { policyPath } from "../../policy/index.ts";
import { planHeader, routePrefix, writePlan, type Harness, type Plan } from "../../testing/adapter-suite/index.ts";
import type { Description } from "../description.ts";

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
export const operationPath = (name: string): string => `${routePrefix}/${name}`;
const planned = (plan: Plan) => ({ headers: { [planHeader]: writePlan(plan) } });

/** Where each profile is mounted, and another operation that takes the same requests. */
export const mounts = {
  ietf: { main: "create", second: "second", hold: "hold" },
  stripe: { main: "stripe", second: "stripe-second", hold: undefined },
  "adr-007": { main: "adr-007", second: "adr-007-hold", hold: "adr-007-hold" },
  polling: { main: "polling", second: "second", hold: undefined },
} as const satisfies Readonly<Record<ProfileName, { main: string; second: string; hold: string | undefined }>>;

const shifted = [
  { scope: { tenant: "a", principal: "u" }, key: '"b:c"' },
  { scope: { tenant: "a:b", principal: "u" }, key: '"c"' },
  { scope: { tenant: "a", principal: "b" }, key: '"u:c"' },
];

const exchangeLines = [
  ["X-Request-Id", "request-1"],
  ["RateLimit-Remaining", "5"],
  ["Server-Timing", "db;dur=53"],
] as const;

const slowMs = 1_200;
export const expiringMs = 1_500;
/** Above the default cap of what is stored. */
const largeBytes = 1_100_000;

export interface FrameworkTraits {
  /** A parser reads the body before the operation begins, and can refuse it. */
  readonly parsesFirst: boolean;
  /** The adapter sees the error answer that the framework makes when a handler throws. */
  readonly seesErrors: boolean;
}

function variantsOf(
  profile: ProfileName,
  { parsesFirst, seesErrors }: FrameworkTraits,
): NonNullable<Description["variants"]> {
  const { hold } = mounts[profile];
  return {
    slow: { ...planned({ sleepMs: slowMs }), ms: slowMs },
    // A profile that stores server errors needs an adapter that sees them.
    ...((seesErrors || profile !== "stripe") && { throws: planned({ throws: "before" }) }),
    ...(hold === undefined
      ? {}
      : { throwsAfterEffect: { path: operationPath(hold), ...planned({ throws: "after" }) } }),
    ...(parsesFirst && { invalid: { content: '{"broken' } }),
    declined: { ...planned({ status: 402, content: { json: { error: "declined" } } }), status: 402 },
    unprocessable: { ...planned({ status: 422, content: { json: { error: "no" } } }), status: 422 },
    noContent: { ...planned({ status: 204, content: { none: true }, headers: [] }), status: 204 },
    redirect: {
      ...planned({ status: 303, headers: [["Location", "/elsewhere"]], content: { none: true } }),
      status: 303,
    },
    accepted: { ...planned({ status: 202, headers: [["Location", "/jobs/1"]] }), status: 202 },
    binary: planned({ content: { random: 4_096, seed: 4 } }),
    streamed: planned({ content: { random: 70_000, seed: 9 }, way: "stream" }),
    large: planned({ content: { random: largeBytes, seed: 10 } }),
    cookies: planned({
      headers: [
        ["Set-Cookie", "a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT"],
        ["Set-Cookie", "b=2"],
      ],
    }),
    exchange: planned({ headers: exchangeLines }),
    expiring: { path: operationPath("brief"), ms: expiringMs },
    conditional: {
      method: "PATCH",
      path: operationPath(`${mounts[profile].main}/7`),
      ...planned({ conditional: true, status: 200 }),
      status: 200,
      ifMatch: '"v1"',
      stale: '"v9"',
    },
  };
}

/** Callers whose joined names would be equal, and one whose token is revoked. */
export function prepareTokens(tokens: Harness<never>["tokens"]): void {
  shifted.forEach(({ scope }, index) => tokens.grant(`shifted-${index}`, scope));
  tokens.grant("alice-revoked", { tenant: "acme", principal: "alice" });
  tokens.set("alice-revoked", 401);
}

export function describeHarness(
  profile: ProfileName,
  urls: { readonly main: string; readonly replica: string; readonly beside: string },
  traits: FrameworkTraits,
): Description {
  const { main, second } = mounts[profile];
  return {
    url: urls.main,
    profile,
    operation: { method: "POST", path: operationPath(main), body: { amount: 100, currency: "EUR" } },
    otherBody: { amount: 200, currency: "EUR" },
    accepts: ["any-json", "empty", "binary", "gzip", "form"],
    secondOperation: { path: operationPath(second) },
    optionalOperation: { path: operationPath("optional") },
    principals: [bearer("alice-1"), bearer("carol-1")],
    rotated: bearer("alice-2"),
    refused: bearer("alice-revoked"),
    ...(profile === "adr-007"
      ? {}
      : { shifted: shifted.map(({ key }, index) => ({ headers: bearer(`shifted-${index}`), key })) }),
    effects: { url: urls.beside, pointer: "/effects" },
    read: { path: operationPath(main) },
    // The harness lets browsers read the marker of the other profiles only.
    ...(profile === "stripe" ? {} : { cors: { origins: ["https://one.example", "https://two.example"] as const } }),
    replicas: [urls.replica],
    policy: `${urls.beside}${policyPath}`,
    variants: variantsOf(profile, traits),
  };
}
