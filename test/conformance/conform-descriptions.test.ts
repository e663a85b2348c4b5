/** Descriptions of servers that are not like the harness: unique members, forms, rules that the server publishes. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { createIchido, type RouteOptions } from "ichido";
import { conform, conformCases, readDescription, type ConformReport } from "ichido/conform";
import { memoryStore } from "ichido/memory";
import { idempotent } from "ichido/node";
import { policyOf, policyPath } from "ichido/policy";
import { afterEach, describe, expect, it } from "vitest";

const limitMs = 120_000;
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function textOf(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

type Handler = (text: string) => { readonly status: number; readonly body?: unknown };

/** One protected operation, its policy, and nothing else. */
async function serve(options: Partial<RouteOptions<http.IncomingMessage>>, handler: Handler): Promise<string> {
  const ichido = createIchido<http.IncomingMessage>({
    store: memoryStore(),
    scope: ({ headers }) => ({ principal: headers.authorization ?? "nobody" }),
    onUnknown: "rerun",
  });
  const route = { operation: "thing.create", ...options };
  const guarded = idempotent(ichido, route, async (request, response) => {
    const { status, body } = handler(await textOf(request));
    response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(body ?? { id: randomUUID() }));
  });
  const policy = JSON.stringify(policyOf(ichido, [{ method: "POST", path: "/things", options: route }]));
  const server = http.createServer((request, response) => {
    if (request.url === policyPath) response.end(policy);
    else void guarded(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closers.push(async () => {
    server.close();
    server.closeAllConnections();
    await ichido.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A sign-up: an e-mail can be used once. */
function signUp(): Handler {
  const emails = new Set<string>();
  return (text) => {
    const { email } = JSON.parse(text) as { readonly email: string };
    if (emails.has(email)) return { status: 422, body: { email: "emailAlreadyExists" } };
    emails.add(email);
    return { status: 201 };
  };
}

const outcomes = ({ results }: ConformReport, outcome: string): string[] =>
  results.filter((each) => each.outcome === outcome).map(({ id }) => id);
const resultOf = ({ results }: ConformReport, id: string) => results.find((each) => each.id === id);

const callers = [{ Authorization: "one" }, { Authorization: "two" }];

describe("members that must be unique", { timeout: limitMs }, () => {
  it("{{uuid}} is another value for every effect, and the same one in every retry", async () => {
    const url = await serve({ methods: ["POST"] }, signUp());
    const description = readDescription({
      url,
      operation: { path: "/things", body: { email: "{{uuid}}@example.com", name: "Ann" } },
      otherBody: { email: "{{uuid}}@example.org", name: "Ben" },
      principals: callers,
    });
    const report = await conform(description);
    expect(outcomes(report, "failed")).toEqual([]);
    expect(outcomes(report, "passed")).toEqual(
      expect.arrayContaining([
        "K-01",
        "K-02",
        "K-05",
        "H-02",
        "H-03",
        "H-13",
        "S-01",
        "S-01 other",
        "F-02",
        "F-06",
        "C-01",
      ]),
    );
  });

  it("a run stops at its first request, with a hint, where that is not answered as described", async () => {
    const url = await serve({}, () => ({ status: 422 }));
    const report = await conform(readDescription({ url, operation: { path: "/things", body: {} } }));
    expect(outcomes(report, "failed")).toEqual(["K-01"]);
    expect(resultOf(report, "K-01")?.failure?.expected).toContain("{{uuid}}");
    expect(resultOf(report, "K-02")?.reason).toContain("see K-01");
    expect(report.requests).toBe(1);
    expect(report.ok).toBe(false);

    const other = await serve({}, () => ({ status: 200 }));
    const hint = resultOf(
      await conform(readDescription({ url: other, operation: { path: "/things", body: {} } })),
      "K-01",
    );
    expect(hint?.failure?.expected).toContain("--status");
  });
});

describe("forms and uploads", { timeout: limitMs }, () => {
  it("otherContent is other content of the same type", async () => {
    const seen: string[] = [];
    const url = await serve({}, (text) => {
      seen.push(text);
      return { status: 201 };
    });
    const report = await conform(
      readDescription({
        url,
        operation: {
          path: "/things",
          content: "amount=100",
          headers: { "Content-Type": "application/x-www-form-urlencoded" },
        },
        otherContent: "amount=200",
        principals: callers,
      }),
    );
    expect(outcomes(report, "failed")).toEqual([]);
    expect(outcomes(report, "passed")).toEqual(expect.arrayContaining(["F-01", "F-02", "S-01 other", "P-01"]));
    expect(new Set(seen)).toEqual(new Set(["amount=100", "amount=200"]));
  });
});

describe("rules that the server publishes", { timeout: limitMs }, () => {
  it("are read where the description names no profile", async () => {
    const url = await serve({ profile: "adr-007", required: false }, () => ({ status: 201 }));
    const described = { url, operation: { path: "/things", body: { a: 1 } }, otherBody: { a: 2 } };
    const report = await conform(readDescription(described));
    expect(report).toMatchObject({ profile: "adr-007", policyRead: true });
    expect(outcomes(report, "failed")).toEqual([]);
    expect(outcomes(report, "passed")).toEqual(expect.arrayContaining(["K-02", "F-01", "H-13 uuid", "T-05"]));
    expect(resultOf(report, "K-03")?.reason).toBe("the key is optional here");

    const said = await conform(readDescription({ ...described, profile: "ietf" }), { only: ["K-02"] });
    expect(said).toMatchObject({ profile: "ietf", policyRead: false, ok: false });
  });

  it("single settings that differ from the profile are read, too, and the description wins", async () => {
    const { profiles } = await import("ichido");
    const own = { ...profiles.ietf, name: "ours", header: "x-once", mismatchStatus: 418 };
    const url = await serve({ profile: own }, () => ({ status: 201 }));
    const described = { url, operation: { path: "/things", body: { a: 1 } }, otherBody: { a: 2 } };
    const report = await conform(readDescription(described), { only: ["K-02", "F-01"] });
    expect(report).toMatchObject({ profile: "ours", policyRead: true, passed: 2, failed: 0 });
    const won = await conform(readDescription({ ...described, overrides: { mismatchStatus: 409 } }), {
      only: ["F-01"],
    });
    expect(resultOf(won, "F-01")?.failure?.expected).toContain("409");
  });
});

describe("a description", () => {
  const base = { url: "http://127.0.0.1:1", operation: { path: "/things" } };

  it.each([
    [{ cors: { origin: "https://a.example" } }, /cors\.origins: expected a list of two origins/],
    [{ cors: { origins: ["https://a.example"] } }, /cors\.origins: expected a list of two origins/],
    [{ cors: { origins: ["https://a.example", "b"] } }, /cors\.origins\[1\]: expected an origin/],
    [
      { cors: { origins: ["https://a.example", "https://b.example"], origin: "x" } },
      /cors\.origin: there is no such member/,
    ],
    [{ replicas: "http://127.0.0.1:2" }, /replicas: expected a list of addresses/],
    [{ replicas: ["/other"] }, /replicas\[0\]: expected an http or https address/],
    [{ shifted: [{ headers: {}, key: "a" }] }, /shifted: expected a list of at least two/],
    [{ shifted: [{ headers: {} }, { headers: {}, key: "a" }] }, /shifted\[0\]\.key: expected text, got nothing/],
    [{ overrides: { keyFrom: "bare" } }, /overrides\.keyFrom: there is no such member; did you mean keyForm\?/],
    [{ overrides: { keyForm: "loose" } }, /overrides\.keyForm: expected one of lenient, strict, bare/],
    [{ overrides: { marker: { name: "x" } } }, /overrides\.marker\.value: expected text/],
    [{ accepts: ["json"] }, /accepts\[0\]: expected one of any-json/],
    [
      { effects: { url: "/count", pionter: "/n" } },
      /effects\.pionter: there is no such member; did you mean pointer\?/,
    ],
    [
      { operation: { path: "/things", staus: 204 } },
      /operation\.staus: there is no such member; did you mean status\?/,
    ],
    [{ operation: { path: "/things", status: "204" } }, /operation\.status: expected a status/],
    [{ variants: { slow: { headers: {} } } }, /variants\.slow\.ms: expected a positive number/],
    [{ variants: { conditional: { ifMatch: '"1"' } } }, /variants\.conditional\.stale: expected text/],
    [{ variants: { throw: {} } }, /variants\.throw: there is no such member; did you mean throws\?/],
    [{ keyRequired: "no" }, /keyRequired: expected true or false/],
    [{ otherBdoy: {} }, /^otherBdoy: there is no such member; did you mean otherBody\?/],
    [{ otherBody: {}, otherContent: "a=1" }, /otherContent: it stands in place of otherBody/],
  ])("refuses %j by name", (part, message) => {
    expect(() => readDescription({ ...base, ...part })).toThrow(message);
  });

  it("cites nothing that a reader cannot find", () => {
    const known =
      /^(draft (sections? [\d., ]+|issues? [\d, ]+)|RFC \d+|ACP 6\.\d|JCS|OASIS|Stripe|AWS|Shopify|Iceberg|Brandur|Adyen|DynamoDB|Fetch)/;
    const strange = conformCases.flatMap(({ id, reference }) =>
      reference
        .split("; ")
        .filter((each) => !known.test(each))
        .map((each) => `${id}: ${each}`),
    );
    expect(strange).toEqual([]);
  });

  it("an id of no case is refused, with those that there are", async () => {
    await expect(conform(readDescription(base), { only: ["ZZ"] })).rejects.toMatchObject({
      code: "option-invalid",
      message: expect.stringMatching(/^option only: expected ids of cases .*K-, H-.* got "ZZ"$/) as string,
    });
  });
});
