/**
 * While a history runs, the clocks, timers and randomness of the platform are the history's own: code that does not take
 * them from its environment is still deterministic, and nothing real can be waited for by accident.
 */
import crypto, { createHash } from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { running } from "./machine.ts";

interface Saved {
  readonly name: string;
  readonly owner: object;
  readonly descriptor: PropertyDescriptor | undefined;
}

function machineNow(): NonNullable<typeof running.machine> {
  if (running.machine === undefined) throw new Error("no simulated process is running");
  return running.machine;
}

const simulatedCrypto = {
  subtle: {
    digest: async (_algorithm: string, data: Uint8Array): Promise<ArrayBuffer> => {
      const hash = createHash("sha256").update(data).digest();
      return new Uint8Array(hash).buffer;
    },
  },
  getRandomValues<Bytes extends Uint8Array>(bytes: Bytes): Bytes {
    bytes.set(machineNow().random.bytes(bytes.length));
    return bytes;
  },
};

interface Timed {
  readonly timer: { cancel(): void };
  unref(): Timed;
  ref(): Timed;
}

function simulatedTimeout(run: () => void, delayMs = 0): Timed {
  const timed: Timed = { timer: machineNow().after(delayMs, run), unref: () => timed, ref: () => timed };
  return timed;
}

function simulatedInterval(run: () => void, delayMs = 0): Timed {
  const machine = machineNow();
  let timer = machine.after(delayMs, beat);
  function beat(): void {
    timer = machine.after(delayMs, beat);
    run();
  }
  const timed: Timed = { timer: { cancel: () => timer.cancel() }, unref: () => timed, ref: () => timed };
  return timed;
}

function simulatedUuid(): string {
  const hex = Buffer.from(machineNow().random.bytes(16)).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20)}`;
}

/** Gives back what puts everything as it was. */
export function sealGlobals(): () => void {
  const saved: Saved[] = [];
  const set = (owner: object, name: string, value: unknown): void => {
    saved.push({ owner, name, descriptor: Object.getOwnPropertyDescriptor(owner, name) });
    Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  };
  set(globalThis, "setTimeout", simulatedTimeout);
  set(globalThis, "clearTimeout", (timed: Timed | undefined) => timed?.timer.cancel());
  set(globalThis, "setInterval", simulatedInterval);
  set(globalThis, "clearInterval", (timed: Timed | undefined) => timed?.timer.cancel());
  set(globalThis, "crypto", simulatedCrypto);
  set(crypto, "randomUUID", simulatedUuid);
  syncBuiltinESMExports();
  set(globalThis, "navigator", { onLine: true });
  set(Date, "now", () => running.machine?.wallMs() ?? 0);
  set(Math, "random", () => machineNow().random.next());
  set(performance, "now", () => running.machine?.monotonicMs() ?? 0);
  return () => {
    for (const { owner, name, descriptor } of saved.toReversed()) {
      if (descriptor === undefined) Reflect.deleteProperty(owner, name);
      else Object.defineProperty(owner, name, descriptor);
    }
    syncBuiltinESMExports();
  };
}
