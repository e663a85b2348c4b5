import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createIchido } from "ichido";
import { memoryStore } from "ichido/memory";
import { idempotent } from "ichido/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ichido, ichidoHere } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-conform-"));
const engine = createIchido<http.IncomingMessage>({
  store: memoryStore(),
  scope: (request) => ({ principal: request.headers.authorization ?? "nobody" }),
  onUnknown: "rerun",
});
let paid = 0;
const pay = idempotent(engine, { operation: "payment.create" }, (_request, response) => {
  paid += 1;
  response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ number: paid }));
});
const server = http.createServer((request, response) => {
  if (request.url === "/count") response.end(JSON.stringify({ paid }));
  else if (request.url === "/unprotected") response.writeHead(201).end(String(Math.random()));
  else void pay(request, response);
});
let url = "";

beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  server.closeAllConnections();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

const operation = ["--path", "/payments", "--body", '{"amount":100}', "--other-body", '{"amount":200}'];
const callers = ["--auth", "Authorization: Bearer secret-one", "--auth", "Authorization: Bearer secret-two"];

describe("ichido conform", () => {
  it("exits with 0 where the rules are kept, and prints a table with what was not run", async () => {
    const counter = ["--effects", "/count", "--effects-pointer", "/paid"];
    const { code, out, err } = await ichido("conform", url, ...operation, ...callers, ...counter);
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatch(/^K-02\s+pass/m);
    expect(out).toMatch(/^S-01\s+pass/m);
    expect(out).toMatch(/^E-03\s+-\s.*\(not described: variants\.throws\)$/m);
    expect(out).toMatch(/\n\d+ passed, 0 failed, 0 differ, \d+ not run\n$/);
  });

  it("exits with 3 where they are not, shows each failure, and never a credential", async () => {
    const { code, out } = await ichido("conform", url, "--path", "/unprotected", ...callers, "--only", "K-,S-01");
    expect(code).toBe(3);
    expect(out).toMatch(/^K-02\s+FAIL[^]*request\s+POST \/unprotected[^]*expected\s+the marker[^]*seen\s+status 201/m);
    expect(out).toContain("see       draft section 2.6; Stripe; ACP 6.3");
    expect(out).not.toContain("secret");
  });

  it("reads a description from a file, and writes JSON lines and JUnit", async () => {
    const config = join(folder, "conform.json");
    const junit = join(folder, "junit.xml");
    writeFileSync(
      config,
      JSON.stringify({
        url,
        operation: { path: "/payments", body: { amount: 1 } },
        effects: { url: "/count", pointer: "/paid" },
      }),
    );
    const { code, out } = await ichido("conform", "--config", config, "--only", "K-", "--json", "--junit", junit);
    expect(code).toBe(0);
    const lines = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ v, type }) => [v, type])).toEqual([...Array<unknown>(5).fill([1, "case"]), [1, "summary"]]);
    expect(lines[0]).toMatchObject({ id: "K-01", outcome: "passed", level: "must" });
    expect(lines.at(-1)).toMatchObject({ passed: 4, failed: 0, notRun: 1, ok: true, effectsCounted: true });
    expect(readFileSync(junit, "utf8")).toMatch(
      /^<\?xml [^]*<testsuite name="[^"]*" tests="5" failures="0" skipped="1">/,
    );
  });

  it("counts differences where they are asked to count", async () => {
    const some = ["conform", url, "--path", "/unprotected", "--only", "P-01"];
    expect((await ichido(...some)).code).toBe(0);
    expect((await ichido(...some, "--strict")).code).toBe(3);
  });

  it.each([
    [["conform"], /the address \(url\): expected an http or https address/],
    [["conform", "http://127.0.0.1:1"], /--path \(operation\.path\): expected a path/],
    [["conform", "http://127.0.0.1:1", "http://127.0.0.1:2"], /one address is enough/],
    [
      ["conform", "http://127.0.0.1:1", "--path", "/x", "--profile", "mine"],
      /--profile \(profile\): expected one of ietf/,
    ],
    // Nobody listens there: usage is judged before the server is asked.
    [["conform", "http://127.0.0.1:1", "--path", "/x", "--requests-max", "abc"], /--requests-max: expected a positive/],
    [["conform", "http://127.0.0.1:1", "--path", "/x", "--only", "K-,ZZ"], /--only: expected ids of cases .* got "ZZ"/],
    [["conform", "http://127.0.0.1:1", "--path", "/x", "--header", "secret"], /--header: expected "Name: value"/],
    [["conform", "http://127.0.0.1:1", "--path", "/x", "--body", "{"], /--body: expected JSON/],
    [["conform", "http://127.0.0.1:1", "--path", "/x", "--auth", "secret"], /--auth: expected "Name: value"/],
    [["conform", "--config", join(folder, "absent.json")], /--config: ENOENT/],
  ])("exits with 2 for %j", async (args, message) => {
    const { code, out, err } = await ichidoHere({}, ...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
    expect(err).not.toContain("secret");
  });

  it("takes forms and other headers from the command line", async () => {
    const type = ["--header", "Content-Type: application/x-www-form-urlencoded"];
    const content = ["--content", "amount=100", "--other-content", "amount=200"];
    const { code, out } = await ichido("conform", url, "--path", "/form", ...type, ...content, "--only", "F-01");
    expect([code, out]).toEqual([0, expect.stringMatching(/^F-01\s+pass/m)]);
  });

  it("tells a program, too, that a server cannot be reached", async () => {
    const { code, out } = await ichidoHere({}, "conform", "http://127.0.0.1:1", "--path", "/x", "--json");
    expect(code).toBe(6);
    expect(JSON.parse(out)).toEqual({
      v: 1,
      type: "error",
      code: "unreachable",
      exitCode: 6,
      message: expect.stringContaining("ECONNREFUSED") as string,
    });
  });

  it("says once that a server cannot be reached", async () => {
    const { code, out, err } = await ichido("conform", "http://127.0.0.1:1", "--path", "/x");
    expect([code, out]).toEqual([6, ""]);
    expect(err).toMatch(/^ichido conform: http:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/);
  });
});
