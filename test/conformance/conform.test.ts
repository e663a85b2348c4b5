/** The black-box runner on our own servers, where nothing may fail, and on a wrong one, where it must find what is wrong. */
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import {
  conform,
  conformCases,
  readDescription,
  reportJunit,
  reportTable,
  type ConformReport,
  type Description,
} from "ichido/conform";
import { profiles, type ProfileName } from "ichido";
import { afterEach, describe, expect, it } from "vitest";
import { harnessFrameworks, startHarness, type HarnessFramework, type HarnessSettings } from "ichido/conform/harness";

const limitMs = 120_000;
const opened: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of opened.splice(0)) await close();
});

/** Cases that say of themselves that another profile or key form is needed. */
const notHere = /^(keys |server errors|the key is optional|an empty field)/;

async function conforms(
  framework: HarnessFramework,
  settings: HarnessSettings & { profile: ProfileName },
): Promise<void> {
  const { profile } = settings;
  const target = await startHarness(framework, settings);
  let report: ConformReport;
  try {
    report = await conform(readDescription(structuredClone(target.description)));
  } finally {
    await target.close();
  }
  const failures = report.results.filter(({ outcome }) => outcome === "failed");
  expect(failures, reportTable(report)).toEqual([]);
  expect(report.ok).toBe(true);
  const left = report.results.filter(
    ({ id, outcome, reason }) =>
      outcome === "not-run" && conformCases.some((each) => each.id === id) && !notHere.test(reason ?? ""),
  );
  const expected: readonly string[] = { ietf: [], stripe: ["E-04", "R-14"], "adr-007": ["S-03"], polling: ["E-04"] }[
    profile
  ];
  const skipped =
    framework === "node" ? ["E-01"] : framework === "fetch" && profile === "stripe" ? ["E-03", "E-03 stored"] : [];
  expect(left.map(({ id }) => id).toSorted()).toEqual([...skipped, ...expected].toSorted());
}

/** The usual run tries every framework under `ietf` and Express under all; `npm run test:full` all pairs. */
const full = process.env["ICHIDO_FULL"] === "1";

describe("our own servers keep every rule that can be seen from outside", () => {
  for (const framework of harnessFrameworks) {
    for (const profile of Object.keys(profiles) as ProfileName[]) {
      if (!full && framework !== "express" && profile !== "ietf") continue;
      it.concurrent(`${framework}, profile ${profile}`, () => conforms(framework, { profile }), limitMs);
    }
  }
  const load = async (name: string): Promise<unknown> => (name === "express" ? import("express4") : undefined);
  it.concurrent("express 4, profile ietf", () => conforms("express", { profile: "ietf", load }), limitMs);
});

/** What many write first: look up, run, insert; the key alone is the identity, and content is not compared. */
async function startNaive(): Promise<Description> {
  const answers = new Map<string, string>();
  let effects = 0;
  async function serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<unknown> {
    if (request.url === "/effects") return response.end(JSON.stringify(effects));
    for await (const _ of request);
    const key = String(request.headers["idempotency-key"] ?? "");
    const stored = answers.get(key);
    response.setHeader("content-type", "application/json");
    if (stored !== undefined) return response.writeHead(201, { "idempotency-replayed": "true" }).end(stored);
    await new Promise((resolve) => setTimeout(resolve, 20));
    effects += 1;
    const body = JSON.stringify({ id: randomUUID() });
    if (key !== "") answers.set(key, body);
    return response.writeHead(201).end(body);
  }
  const server = http.createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  opened.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    operation: { path: "/payments", body: { amount: 100 } },
    otherBody: { amount: 200 },
    secondOperation: { path: "/orders" },
    principals: [{ authorization: "Bearer one" }, { authorization: "Bearer two" }],
    refused: { authorization: "Bearer none" },
    effects: { url: "/effects" },
    read: { path: "/payments" },
  };
}

describe("a naive server", () => {
  it(
    "is found out, case by case, with request, expectation, sight and reference",
    async () => {
      const report = await conform(await startNaive());
      expect(report.ok).toBe(false);
      const outcomes = Object.fromEntries(report.results.map(({ id, outcome }) => [id, outcome]));
      for (const id of ["K-01", "K-02", "K-05", "H-01", "F-03", "F-14", "R-07"])
        expect(outcomes[id], id).toBe("passed");
      for (const id of [
        "K-03",
        "H-03",
        "H-05",
        "H-06",
        "H-08",
        "S-01",
        "S-02",
        "S-04",
        "F-01",
        "F-02",
        "C-01",
        "M-01",
        "P-01",
      ]) {
        expect(outcomes[id], id).toBe("failed");
      }
      const mismatch = report.results.find(({ id }) => id === "F-01");
      expect(mismatch).toMatchObject({ level: "must", reference: "draft section 2.7; ACP 6.4" });
      expect(mismatch?.failure?.request).toMatch(
        /^POST \/payments\nauthorization: \(not shown\)\n[^]*\{"amount":200\}$/,
      );
      expect(mismatch?.failure?.expected).toMatch(/^422/);
      expect(mismatch?.failure?.seen).toMatch(/^status 201\n[^]*idempotency-replayed: true/);
      const rush = report.results.find(({ id }) => id === "C-01");
      expect(rush?.failure?.seen).toMatch(/^\d+ ran$/);
      const table = reportTable(report);
      expect(table).toMatch(/^F-01\s+FAIL\s+other content is refused/m);
      expect(table).toMatch(/^T-05\s+-\s+.*\(not described: policy\)$/m);
      expect(table).not.toContain("Bearer");
      const junit = reportJunit(report);
      expect(junit.match(/<testcase /g)).toHaveLength(report.results.length);
      expect(junit.match(/<failure /g)).toHaveLength(report.failed);
    },
    limitMs,
  );

  it("gets no more requests than allowed, and what was left out is said", async () => {
    const report = await conform(await startNaive(), { requestsMax: 12 });
    expect(report.requests).toBe(12);
    expect(report.results.find(({ id }) => id === "C-01")?.reason).toBe("the limit of 12 requests was reached");
  });

  it("can be asked for some cases alone", async () => {
    const report = await conform(await startNaive(), { only: ["K-01", "K-02"] });
    expect(report.results.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["K-01", "passed"],
      ["K-02", "passed"],
    ]);
    expect(report.ok).toBe(true);
  });
});

describe("a server of another profile", () => {
  it("is told apart where the profiles differ, and only there", async () => {
    const target = await startHarness("express", { profile: "stripe" });
    opened.push(() => target.close());
    const only = ["K-", "H-03", "H-04", "H-08", "S-01", "S-02", "F-01", "E-03"];
    const report = await conform({ ...target.description, profile: "ietf" }, { only });
    const failed = report.results.filter(({ outcome }) => outcome === "failed").map(({ id }) => id);
    expect(failed).toEqual(["K-02", "H-03", "H-04", "S-02", "F-01", "E-03"]);
  });
});

describe("a description", () => {
  const sound = { url: "http://127.0.0.1:1", operation: { path: "/x" } };
  it.each([
    [{ ...sound, url: "ftp://x" }, /^url: expected an http or https address/],
    [{ url: sound.url }, /^operation: expected an object/],
    [{ ...sound, operation: { path: "x" } }, /^operation\.path: expected a path/],
    [{ ...sound, profile: "toString" }, /^profile: expected one of ietf, stripe, adr-007, polling/],
    [{ ...sound, princpals: [] }, /^princpals: there is no such member; did you mean principals\?/],
    [{ ...sound, variants: { slowly: {} } }, /^variants\.slowly: there is no such member/],
    [{ ...sound, variants: { slow: {} } }, /^variants\.slow\.ms: expected a positive number/],
    [{ ...sound, principals: [{ a: 1 }] }, /^principals\[0\]: expected an object of strings/],
  ])("that cannot be used says why: %#", (value, message) => {
    expect(() => readDescription(value)).toThrow(message);
  });
});
