/** What a browser would refuse, found by asking as it does. */
import { createServer, type OutgoingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryStore } from "ichido/memory";
import { diagnose } from "ichido/operations";
import { expect, onTestFinished, test } from "vitest";

const origin = "https://shop.example";
const right = {
  "access-control-allow-origin": origin,
  "access-control-allow-headers": "content-type, idempotency-key",
  "access-control-allow-methods": "GET, POST, PATCH",
  "access-control-expose-headers": "Idempotency-Replayed",
};

async function found(headers: OutgoingHttpHeaders, method?: string): Promise<readonly string[]> {
  const server = createServer((_, response) => void response.writeHead(204, headers).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/payments`;
  const preflights = [{ url, origin, ...(method === undefined ? {} : { method }) }];
  const findings = await diagnose({ ichido: { store: memoryStore() }, preflights });
  return findings.flatMap(({ code, remedy }) => (/preflight|cors/.test(code) ? [`${code}: ${remedy}`] : []));
}

const credentials = { "access-control-allow-credentials": "true" };
const anyOrigin = { "access-control-allow-origin": "*" };
const anyHeader = { "access-control-allow-headers": "*" };
const anyMethod = { "access-control-allow-methods": "*" };
const anyExposed = { "access-control-expose-headers": "*" };
const noMethod = `preflight-refused: Access-Control-Allow-Methods: PATCH`;
const noHeader = "preflight-refused: Access-Control-Allow-Headers: Content-Type, Idempotency-Key";

test.each([
  ["all that is needed", right, "PATCH", []],
  ["no method, which POST does not need", { ...right, "access-control-allow-methods": "" }, undefined, []],
  ["other methods", { ...right, "access-control-allow-methods": "GET,POST" }, "PATCH", [noMethod]],
  ["the method in small letters", { ...right, "access-control-allow-methods": "patch" }, "PATCH", [noMethod]],
  ["any method", { ...right, ...anyMethod }, "PATCH", []],
  ["any method with credentials", { ...right, ...anyMethod, ...credentials }, "PATCH", [noMethod]],
  ["any header", { ...right, ...anyHeader }, undefined, []],
  ["any header with credentials", { ...right, ...anyHeader, ...credentials }, undefined, [noHeader]],
  ["any origin", { ...right, ...anyOrigin }, undefined, []],
  [
    "any origin with credentials",
    { ...right, ...anyOrigin, ...credentials },
    undefined,
    [`preflight-refused: Access-Control-Allow-Origin: ${origin}`],
  ],
  ["any exposed header with credentials", { ...right, ...anyExposed, ...credentials }, undefined, ["cors-not-exposed"]],
  [
    "neither header nor method",
    { ...right, ...anyHeader, ...anyMethod, ...credentials },
    "PATCH",
    [noHeader, noMethod],
  ],
])("a server that allows %s", async (_, headers, method, expected) => {
  const told = await found(headers, method);
  expect(told).toHaveLength(expected.length);
  for (const [at, start] of expected.entries()) expect(told[at]?.startsWith(start), told[at]).toBe(true);
});
