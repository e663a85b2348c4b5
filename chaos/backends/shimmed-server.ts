/** A server whose wall clock can be moved and whose disk can be full, by a preloaded library and a file that it maps. */
import { closeSync, openSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { giveToServer } from "../../scripts/services/account.ts";
import { buildShim } from "../../test/crash/power-cut-shim.ts";

export interface Shim {
  /** For the server. */
  readonly env: Readonly<Record<string, string>>;
  leap(ms: number): Promise<void>;
  fill(on: boolean): void;
  /** Writes that were refused since the start, because the disk was full. */
  refused(): number;
  remove(): void;
}

/** The words of the file. */
const place = { offUs: 0, full: 1, refused: 2 } as const;
const wordBytes = 8;

/** Undefined where no library can be built: the report then has no such faults. Where servers are required it fails. */
export function shimmedServer(build: typeof buildShim = buildShim): Shim | undefined {
  const shim = build(new URL("server-shim.c", import.meta.url));
  if ("reason" in shim) {
    const lack = `the store's clock cannot be moved, and its disk is never full: ${shim.reason}`;
    if (process.env["CI"] === "true" || process.env["REQUIRE_SERVICES"] === "1") throw new Error(lack);
    console.log(lack);
    return undefined;
  }
  const { library, folder } = shim;
  const file = join(folder, "words");
  writeFileSync(file, Buffer.alloc(3 * wordBytes));
  for (const path of [folder, library, file]) giveToServer(path);
  const set = (word: number, value: bigint): void => {
    const bytes = Buffer.alloc(wordBytes);
    bytes.writeBigInt64LE(value);
    // In place: the servers have the file mapped.
    const opened = openSync(file, "r+");
    writeSync(opened, bytes, 0, wordBytes, word * wordBytes);
    closeSync(opened);
  };
  return {
    env: { LD_PRELOAD: library, SERVER_SHIM_FILE: file },
    leap: async (ms) => set(place.offUs, BigInt(ms) * 1_000n),
    fill: (on) => set(place.full, on ? 1n : 0n),
    refused: () => Number(readFileSync(file).readBigInt64LE(place.refused * wordBytes)),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
