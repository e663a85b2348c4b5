/** Every example runs as its README says, from the packed package: paid once, answered again, refused with other content. */
import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { spawnChild, type Child } from "ichido/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { pack, root, type Packed } from "./packed.ts";

const examples = readdirSync(join(root, "examples"));
/** It is no server: it runs, and ends. */
const crashTests = "crash-tests";
const servers = examples.filter((name) => name !== crashTests);
const shell = promisify(execFile);
const hasCurl = spawnSync("curl", ["--version"]).status === 0;
let packed: Packed;
let child: Child | undefined;
beforeAll(async () => {
  packed = await pack();
}, 120_000);
afterAll(() => packed?.remove());
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

/** The folder of the example beside `node_modules` with the packed package and what its own manifest asks for. */
function install(name: string): string {
  const folder = join(packed.project, name);
  cpSync(join(root, "examples", name), folder, { recursive: true });
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
  };
  link(
    folder,
    Object.keys(dependencies).filter((dependency) => dependency !== "ichido"),
  );
  return folder;
}

/** The program that `npm start` runs. */
function startOf(folder: string): string {
  const { scripts } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { scripts: { start: string } };
  return scripts.start.replace(/^node /, "");
}

function link(folder: string, packages: readonly string[]): void {
  for (const each of packages) {
    const target = join(folder, "node_modules", each);
    mkdirSync(dirname(target), { recursive: true });
    symlinkSync(join(root, "node_modules", each), target);
  }
}

describe("examples", () => {
  it("there is one for every kind of server", () => {
    expect(servers.toSorted()).toEqual(["express", "fastify", "hono", "koa", "nest", "next", "node"]);
  });

  it("the crash tests run as their README says", async () => {
    const folder = install(crashTests);
    const readme = readFileSync(join(folder, "README.md"), "utf8");
    expect(/```sh\n([^]*?)```/.exec(readme)?.[1]?.trim().split("\n")).toEqual(["npm install", "npm start"]);
    child = await spawnChild(pathToFileURL(join(folder, startOf(folder))), { cwd: folder });
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(child.lines.filter((line) => !line.endsWith(" holds"))).toEqual([]);
  });

  it.runIf(hasCurl).each(servers)("%s does what its README says (needs curl)", async (name) => {
    const folder = install(name);
    const readme = readFileSync(join(folder, "README.md"), "utf8");
    const lines = [...readme.matchAll(/```sh\n([^]*?)```/g)].flatMap(([, fence = ""]) => fence.trim().split("\n"));
    expect(lines.slice(0, 2)).toEqual(["npm install", "npm start"]);
    child = await spawnChild(pathToFileURL(join(folder, startOf(folder))), { cwd: folder, env: { PORT: "0" } });
    const [, port = ""] = await child.waitFor(/^listening on .*"port":(\d+)/, 60_000);
    const [pay = "", again = "", other = ""] = lines.slice(2);
    const [first, second, third] = [await paste(pay, port), await paste(again, port), await paste(other, port)];
    expect(first.status).toBe(201);
    expect(first.head).not.toMatch(/idempotency-replayed/i);
    expect(JSON.parse(first.body)).toMatchObject({ amount: 100 });
    expect([second.status, second.body]).toEqual([201, first.body]);
    expect(second.head).toMatch(/^idempotency-replayed: true\r?$/im);
    expect([third.status, (JSON.parse(third.body) as { code: string }).code]).toEqual([422, "idempotency-key-reused"]);
    // Nobody shares a key with a stranger, and a stranger has none.
    const ben = await paste(pay.replace("ann-token", "ben-token"), port);
    expect(ben.status).toBe(201);
    expect(ben.body).not.toBe(first.body);
    const stranger = await paste(pay.replace("ann-token", "nobody"), port);
    expect(stranger.status).toBe(401);
  });

  it.runIf(hasCurl).each(["README.md", "README.ja.md", "packages/ichido/README.md"])(
    "the first program of %s does what the page says (needs curl)",
    async (page) => {
      const folder = join(packed.project, page.replaceAll(/\W/g, "-"));
      const text = readFileSync(join(root, page), "utf8");
      const program = /```ts\n([^]*?)```/.exec(text)?.[1] ?? "";
      const line = 'app.listen(3000, () => console.log("http://localhost:3000"));';
      expect(program).toContain(line);
      link(folder, ["express"]);
      const free =
        'const server = app.listen(0, "127.0.0.1", () => console.log("listening on", JSON.stringify(server.address())));';
      writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
      writeFileSync(join(folder, "server.ts"), program.replace(line, free));
      child = await spawnChild(join(folder, "server.ts"), { cwd: folder });
      const [, port = ""] = await child.waitFor(/^listening on .*"port":(\d+)/, 60_000);
      const [pay = "", again = ""] = text.match(/^curl -i .*$/gm) ?? [];
      const [first, second] = [await paste(pay, port), await paste(again, port)];
      expect([first.status, second.status, second.body]).toEqual([201, 201, first.body]);
      expect(second.head).toMatch(/^idempotency-replayed: true\r?$/im);
      expect((await paste(again.replace("100", "200"), port)).status).toBe(422);
      expect((await paste(again.replace("ann-token", "nobody"), port)).status).toBe(401);
    },
  );
});
