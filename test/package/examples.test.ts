/** Every example runs as its README says: paid once, answered again, refused with other content. */
import { execFile, spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { spawnChild, type Child } from "ichido/testing";
import { afterEach, describe, expect, it } from "vitest";

const root = new URL("../../", import.meta.url);
const examples = readdirSync(new URL("examples/", root));
const shell = promisify(execFile);
const hasCurl = spawnSync("curl", ["--version"]).status === 0;
let child: Child | undefined;
afterEach(async () => {
  await child?.stop();
});

interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** A `curl -i` line of the README, pasted into a shell, but for the port. */
async function paste(line: string, port: string): Promise<Answer> {
  const { stdout } = await shell("sh", ["-c", line.replace("localhost:3000", `127.0.0.1:${port}`)]);
  const [head = "", body = ""] = stdout.split("\r\n\r\n");
  return { status: Number(/^HTTP\/1.1 (\d+)/.exec(head)?.[1]), head, body };
}

describe("examples", () => {
  it("there is one for every kind of server", () => {
    expect(examples.toSorted()).toEqual(["express", "fastify", "hono", "koa", "nest", "next", "node"]);
  });

  it.runIf(hasCurl).each(examples)("%s does what its README says (needs curl)", async (name) => {
    const readme = readFileSync(new URL(`examples/${name}/README.md`, root), "utf8");
    const [start = "", ...curls] = (/```sh\n([^]*?)```/.exec(readme)?.[1] ?? "").trim().split("\n");
    const entry = /^node --conditions=ichido-source (\S+) &$/.exec(start)?.[1] ?? "";
    expect([entry, curls.length]).toEqual([`examples/${name}/server.ts`, 3]);
    child = await spawnChild(new URL(entry, root), { cwd: fileURLToPath(root), env: { PORT: "0" } });
    const [, port = ""] = await child.waitFor(/^listening on .*"port":(\d+)/, 60_000);
    const [first, second, third] = [
      await paste(curls[0] ?? "", port),
      await paste(curls[1] ?? "", port),
      await paste(curls[2] ?? "", port),
    ];
    expect(first.status).toBe(201);
    expect(first.head).not.toMatch(/idempotency-replayed/i);
    expect(JSON.parse(first.body)).toMatchObject({ amount: 100 });
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect(second.head).toMatch(/^idempotency-replayed: true\r?$/im);
    expect([third.status, (JSON.parse(third.body) as { code: string }).code]).toEqual([422, "idempotency-key-reused"]);
  });
});
