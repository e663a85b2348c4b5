/** A wall clock that can be moved under a running server, by a preloaded library and a file of eight bytes. */
import { closeSync, openSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { giveToServer } from "../../scripts/services/account.ts";
import { buildShim } from "../../test/crash/power-cut-shim.ts";

export interface ShiftedClock {
  /** For the server. */
  readonly env: Readonly<Record<string, string>>;
  leap(ms: number): Promise<void>;
  remove(): void;
}

function bytesOf(ms: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt(ms) * 1_000n);
  return bytes;
}

/** Undefined where no library can be built: the clock then stays as it is, and the report has no such fault. */
export function shiftedClock(): ShiftedClock | undefined {
  const shim = buildShim(new URL("clock-shim.c", import.meta.url));
  if ("reason" in shim) {
    console.log(`the store's clock cannot be moved: ${shim.reason}`);
    return undefined;
  }
  const { library, folder } = shim;
  const file = join(folder, "off");
  writeFileSync(file, bytesOf(0));
  for (const path of [folder, library, file]) giveToServer(path);
  return {
    env: { LD_PRELOAD: library, CLOCK_SHIM_FILE: file },
    async leap(ms) {
      // In place: the servers have the file mapped.
      const opened = openSync(file, "r+");
      writeSync(opened, bytesOf(ms), 0, 8, 0);
      closeSync(opened);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
