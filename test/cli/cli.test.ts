import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ichido } from "./command-line.ts";

const manifest = JSON.parse(readFileSync(new URL("../../packages/ichido/package.json", import.meta.url), "utf8")) as {
  version: string;
  bin: Record<string, string>;
};

describe("ichido", () => {
  it("prints its version and its commands", async () => {
    expect(await ichido("--version")).toEqual({ code: 0, out: `${manifest.version}\n`, err: "" });
    const help = await ichido("--help");
    expect([help.code, help.err]).toEqual([0, ""]);
    expect(help.out).toMatch(/^usage: ichido <command>[^]*\n {2}conform /);
    expect(await ichido("help", "conform")).toEqual(await ichido("conform", "--help"));
    expect((await ichido("help", "confrom")).code).toBe(2);
  });

  it("exits with 2 where the usage is wrong, and says what to do on the error stream", async () => {
    expect(await ichido("confrom")).toEqual({
      code: 2,
      out: "",
      err: 'ichido: there is no command "confrom". Did you mean conform?\n',
    });
    expect((await ichido("toString")).code).toBe(2);
    const nothing = await ichido();
    expect([nothing.code, nothing.out]).toEqual([2, ""]);
    expect(nothing.err).toMatch(/^usage: /);
    const option = await ichido("conform", "--nonsense");
    expect([option.code, option.out]).toEqual([2, ""]);
    expect(option.err).toMatch(/^ichido conform: .*--nonsense.* See ichido conform --help\.\n$/);
  });

  it("is the package's command", () => {
    expect(manifest.bin).toEqual({ ichido: "./dist/cli/bin.js" });
  });
});
