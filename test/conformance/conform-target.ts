/** A harness application described for `ichido/conform`, with a counter and the policy beside it, so that all can be seen. */
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import type { ProfileName } from "ichido";
import type { Description } from "ichido/conform";
import { memoryStore } from "ichido/memory";
import { policyOf, policyPath } from "ichido/policy";
import { planHeader, routePrefix, writePlan, type AdapterSubject, type HarnessRoute, type Plan } from "ichido/testing";

export type Subject = Pick<AdapterSubject, "start" | "ways" | "skip">;

export interface Target {
  readonly description: Description;
  close(): Promise<void>;
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` });
const at = (name: string): string => `${routePrefix}/${name}`;
const planned = (plan: Plan) => ({ headers: { [planHeader]: writePlan(plan) } });

/** Where each profile is mounted, and another operation that takes the same requests. */
const mounts = {
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
const expiringMs = 1_500;
/** Above the default cap of what is stored. */
const largeBytes = 1_100_000;

function variantsOf(profile: ProfileName, { ways, skip }: Subject): Description["variants"] {
  const { hold } = mounts[profile];
  // Where nothing reads the body before the handler, there is no refusal before the operation begins.
  const parsesFirst = skip?.["E-01"] === undefined;
  const streamed = ["chunks", "stream", "pipe", "write", "raw"].find((way) => ways.includes(way));
  return {
    slow: { ...planned({ sleepMs: slowMs }), ms: slowMs },
    throws: planned({ throws: "before" }),
    ...(hold === undefined ? {} : { throwsAfterEffect: { path: at(hold), ...planned({ throws: "after" }) } }),
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
    ...(streamed === undefined ? {} : { streamed: planned({ content: { random: 70_000, seed: 9 }, way: streamed }) }),
    large: planned({ content: { random: largeBytes, seed: 10 } }),
    cookies: planned({
      headers: [
        ["Set-Cookie", "a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT"],
        ["Set-Cookie", "b=2"],
      ],
    }),
    exchange: planned({ headers: exchangeLines }),
    expiring: { path: at("brief"), ms: expiringMs },
    conditional: {
      method: "PATCH",
      path: at(`${mounts[profile].main}/7`),
      ...planned({ conditional: true, status: 200 }),
      status: 200,
      ifMatch: '"v1"',
      stale: '"v9"',
    },
  };
}

export async function startTarget(subject: Subject, profile: ProfileName): Promise<Target> {
  const store = memoryStore();
  const options = {
    store,
    routes: { brief: { profile, retentionMs: expiringMs, statusUrl: (id: string) => `/operations/${id}` } },
  };
  const apps = [await subject.start(options), await subject.start(options)];
  const [app, replica] = apps as [(typeof apps)[0], (typeof apps)[0]];
  for (const { harness } of apps) {
    shifted.forEach(({ scope }, index) => harness.tokens.grant(`shifted-${index}`, scope));
    harness.tokens.grant("alice-revoked", { tenant: "acme", principal: "alice" });
    harness.tokens.set("alice-revoked", 401);
  }
  const { main, second } = mounts[profile];
  const published = app.harness.routes
    .filter(({ name }) => name === main)
    .map(({ options: route }: HarnessRoute) => ({ method: "POST", path: at(main), options: route }));
  const beside = http.createServer((request, response) => {
    const effects = apps.reduce((sum, { harness }) => sum + harness.effects.count(), 0);
    const answer = request.url === policyPath ? policyOf(app.harness.ichido, published) : { effects };
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
  });
  beside.listen(0, "127.0.0.1");
  await once(beside, "listening");
  const besideUrl = `http://127.0.0.1:${(beside.address() as AddressInfo).port}`;
  return {
    description: {
      url: `http://127.0.0.1:${app.port}`,
      profile,
      operation: { method: "POST", path: at(main), body: { amount: 100, currency: "EUR" } },
      otherBody: { amount: 200, currency: "EUR" },
      accepts: ["any-json", "empty", "binary", "gzip", "form"],
      secondOperation: { path: at(second) },
      optionalOperation: { path: at("optional") },
      principals: [bearer("alice-1"), bearer("carol-1")],
      rotated: bearer("alice-2"),
      refused: bearer("alice-revoked"),
      ...(profile === "adr-007"
        ? {}
        : { shifted: shifted.map(({ key }, index) => ({ headers: bearer(`shifted-${index}`), key })) }),
      effects: { url: besideUrl, pointer: "/effects" },
      read: { path: at(main) },
      // The harness lets browsers read the marker of the other profiles only.
      ...(profile === "stripe" ? {} : { cors: { origins: ["https://one.example", "https://two.example"] as const } }),
      replicas: [`http://127.0.0.1:${replica.port}`],
      policy: `${besideUrl}${policyPath}`,
      variants: variantsOf(profile, subject) ?? {},
    },
    async close() {
      beside.close();
      beside.closeAllConnections();
      for (const running of apps) {
        running.harness.gates.openAll();
        await running.close();
        await running.harness.ichido.close();
      }
      await store.close();
    },
  };
}
