import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { bundleForBrowser } from "./bundle.ts";

const gzipped = (code: string): number => gzipSync(code, { level: 9 }).length;
const clientBytesMax = 6.5 * 1_024;
const allBytesMax = 7.5 * 1_024;
const keyBytesMax = 600;

describe("what a browser downloads", () => {
  it("all of ichido/client: at most 7.5 kB, and nothing of Node", async () => {
    const code = await bundleForBrowser('code:export * from "ichido/client";');
    console.log(`ichido/client: ${gzipped(code)} bytes gzipped, ${code.length} minified`);
    expect(gzipped(code)).toBeLessThanOrEqual(allBytesMax);
    expect(code).not.toMatch(/node:|\bBuffer\b|\bprocess\./);
  });

  it("uuidV7 alone is next to nothing", async () => {
    const code = await bundleForBrowser('code:import { uuidV7 } from "ichido/client"; console.log(uuidV7());');
    console.log(`uuidV7 alone: ${gzipped(code)} bytes gzipped`);
    expect(gzipped(code)).toBeLessThanOrEqual(keyBytesMax);
  });

  it("createClient: at most 6.5 kB; it brings no drop-in fetch along, and the other way round no unused parts", async () => {
    const code = await bundleForBrowser(
      'code:import { createClient } from "ichido/client"; console.log(createClient);',
    );
    console.log(`createClient alone: ${gzipped(code)} bytes gzipped`);
    expect(gzipped(code)).toBeLessThanOrEqual(clientBytesMax);
    expect(code).not.toContain("UnknownOutcomeError");
  });
});
