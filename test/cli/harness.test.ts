import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnChild, type Child } from "ichido/testing";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { ichido, ichidoHere } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "ichido-harness-"));
const bin = new URL("../../packages/ichido/src/cli/bin.ts", import.meta.url);
let child: Child | undefined;
afterEach(async () => {
  await child?.stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("ichido harness", () => {
  it.each(["express", "node"])("starts a server in %s that ichido conform can be tried on", async (framework) => {
    child = await spawnChild(bin, { args: ["harness", framework, "--profile", "stripe"] });
    const config = join(folder, `${framework}.json`);
    await child.waitFor(/^ichido harness: \w+ listens on http:/, 60_000);
    await child.waitFor(/^\}$/);
    writeFileSync(config, child.lines.filter((line) => /^[{} ]/.test(line)).join("\n"));
    const tried = await ichido("conform", "--config", config, "--only", "K-,H-05,S-01,S-02,F-01,R-01,R-09");
    expect([tried.code, tried.err]).toEqual([0, ""]);
    expect(tried.out).toMatch(/profile stripe/);
    expect(tried.out).toMatch(/\n\d+ passed, 0 failed, 0 differ, 0 not run\n$/);
    expect(await child.stop()).toEqual({ code: 0, signal: null });
  });

  it.each([
    [["harness"], /expected one of express, .*, got nothing/],
    [["harness", "rails"], /expected one of express, .*, got rails/],
    [["harness", "node", "koa"], /one framework is enough/],
    [["harness", "node", "--port", "0"], /--port: expected a number from 1 to 65535/],
    [["harness", "node", "--profile", "mine"], /--profile: expected one of ietf, stripe/],
  ])("exits with 2 for %j", async (args, message) => {
    const { code, out, err } = await ichidoHere({}, ...args);
    expect([code, out]).toEqual([2, ""]);
    expect(err).toMatch(message);
  });
});
