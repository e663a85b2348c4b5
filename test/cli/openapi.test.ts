/** `ichido openapi`: no POST or PATCH without a stated policy, and none that says what the program does not do. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { root } from "../repo/tracked.ts";
import { ichidoHere, ichidoIn, linesOf } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-openapi-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const answer = { responses: { 200: { description: "ok" } } };
function document(post: object): string {
  const path = join(folder, "openapi.json");
  const paths = {
    "/payments": { get: answer, post: { ...answer, ...post } },
    "/users/{id}": { patch: { ...answer, "x-idempotency": false }, put: answer },
  };
  writeFileSync(path, JSON.stringify({ openapi: "3.1.0", info: { title: "shop", version: "1" }, paths }));
  return path;
}

it("exits with 3 for a POST or PATCH that says nothing of keys, and with 0 where each does", async () => {
  const bare = await ichidoHere({ cwd: folder }, "openapi", "--check", document({}));
  expect([bare.code, bare.out]).toEqual([
    3,
    expect.stringMatching(/^METHOD[^\n]*\nPOST +\/payments +missing +it has no x-idempotency\n$/),
  ]);
  const stated = await ichidoHere(
    { cwd: folder },
    "openapi",
    "--check",
    document({ "x-idempotency": { required: true } }),
    "--json",
  );
  expect([stated.code, linesOf(stated.out).map(({ policy }) => policy)]).toEqual([0, ["stated", "none", undefined]]);
});

it("follows references of paths, checks webhooks, and finds what stands in another file", async () => {
  const file = join(folder, "refs.json");
  const ran = async (parts: object): Promise<readonly [number, string]> => {
    writeFileSync(file, JSON.stringify({ openapi: "3.1.0", info: { title: "shop", version: "1" }, ...parts }));
    const { code, out } = await ichidoHere({ cwd: folder }, "openapi", "--check", file, "--json");
    const operations = linesOf(out).filter(({ type }) => type === "operation");
    return [code, operations.map(({ method, path, policy }) => [method, path, policy].join(" ")).join(", ")];
  };
  const shared = (post: object): object => ({ components: { pathItems: { "a/b": { post } } } });
  const paths = { "/a": { $ref: "#/components/pathItems/a~1b" } };
  expect(await ran({ paths, ...shared(answer) })).toEqual([3, "POST /a missing"]);
  expect(await ran({ paths, ...shared({ ...answer, "x-idempotency": {} }) })).toEqual([0, "POST /a stated"]);
  const beside = { "/a": { ...paths["/a"], patch: answer }, "/b": { $ref: "#/paths/~1a" } };
  expect(await ran({ paths: beside, ...shared({ ...answer, "x-idempotency": false }) })).toEqual([
    3,
    "POST /a none, PATCH /a missing, POST /b none, PATCH /b missing",
  ]);
  const round = { $ref: "#/paths/~1round" };
  for (const item of [{ $ref: "./paths.json#/a" }, { $ref: "#/components/pathItems/none" }, round])
    expect(await ran({ paths: { "/round": item } })).toEqual([3, "ANY /round unread"]);
  expect(await ran({ webhooks: { paid: { post: answer }, sent: paths["/a"] }, ...shared(answer) })).toEqual([
    3,
    "POST webhook paid missing, POST webhook sent missing",
  ]);
});

it("reads YAML with the parser that is installed, and refuses what is no document", async () => {
  const yaml = join(folder, "openapi.yaml");
  writeFileSync(yaml, "openapi: 3.1.0\npaths:\n  /payments:\n    post:\n      responses: {}\n");
  expect((await ichidoHere({ cwd: folder }, "openapi", "--check", yaml)).code).toBe(3);
  const other = join(folder, "other.json");
  writeFileSync(other, "[]");
  expect((await ichidoHere({ cwd: folder }, "openapi", "--check", other)).err).toMatch(/it has no paths/);
  expect((await ichidoHere({ cwd: folder }, "openapi", "--check", join(folder, "absent.json"))).code).toBe(2);
  expect((await ichidoHere({ cwd: folder }, "openapi", other)).code).toBe(1);
});

it("with the configuration's routes, writes their policy and finds a document that differs", async () => {
  const project = join(folder, "project");
  mkdirSync(project);
  symlinkSync(join(root, "node_modules"), join(project, "node_modules"));
  writeFileSync(join(project, "package.json"), '{"type":"module"}');
  writeFileSync(
    join(project, "ichido.config.ts"),
    `import { createIchido } from "ichido";
import { defineConfig } from "ichido/config";
import { memoryStore } from "ichido/memory";
const ichido = createIchido({ store: memoryStore(), scope: () => ({ principal: "p" }), onUnknown: "hold" });
const options = { operation: "payment.create" } as const;
export default defineConfig({ ichido, routes: [{ method: "POST", path: "/payments", options }] });
`,
  );
  const written = await ichidoIn({ cwd: project }, "openapi", document({}));
  expect(written.code).toBe(0);
  const whole = JSON.parse(written.out) as { paths: Record<string, Record<string, { "x-idempotency": object }>> };
  const policy = whole.paths["/payments"]?.["post"]?.["x-idempotency"];
  expect(policy).toMatchObject({ operation: "payment.create", required: true });
  expect((await ichidoIn({ cwd: project }, "openapi", "--check", document({ "x-idempotency": policy }))).code).toBe(0);
  const late = await ichidoIn(
    { cwd: project },
    "openapi",
    "--check",
    document({ "x-idempotency": { ...policy, retention: "PT1H" } }),
  );
  expect([late.code, late.out]).toEqual([3, expect.stringMatching(/differs +the program differs in retention/)]);
});
