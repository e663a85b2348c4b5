/** A bank of the shop's own, as a child process that is started again when it dies and that never outlives the shop. */
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { StartError } from "../errors.ts";
import type { FaultSetting } from "./faults.ts";

export interface BankChild {
  /** Changes never: a bank that is started again takes the same port. */
  readonly url: string;
  readonly pid: number;
  readonly restarts: number;
  readonly lastRestartMs: number | undefined;
  stop(): Promise<void>;
}

export interface BankChildOptions {
  /** Whether it prints where it listens, as the shop's own bank does. Default: it does. */
  readonly announce?: boolean;
  /** How it misbehaves from its first order on; asked at every start. Absent: not at all. */
  readonly faults?: () => FaultSetting;
  readonly onExit?: (pid: number, reason: string) => void;
}

const START_MS = 30_000;
const STOP_MS = 3_000;
const RESTART_MS = 500;

export async function startBankChild(
  file: string,
  log: (line: string) => void,
  options: BankChildOptions = {},
): Promise<BankChild> {
  let stopping = false;
  let restarts = 0;
  let lastRestartMs: number | undefined;
  let { child, port } = await launch(file, 0, options);

  const watch = (watched: ChildProcess): void => {
    watched.once("exit", (code, signal) => {
      if (stopping) return;
      const reason = signal ?? `exit code ${code}`;
      log(`the bank ended (${reason}); starting it again`);
      options.onExit?.(watched.pid ?? 0, reason);
      restarts += 1;
      void restart();
    });
  };
  const restart = async (): Promise<void> => {
    const beganMs = performance.now();
    while (!stopping) {
      await sleep(RESTART_MS);
      try {
        ({ child } = await launch(file, port, options));
        lastRestartMs = Math.round(performance.now() - beganMs);
        if (stopping) await end(child);
        else watch(child);
        return;
      } catch (error) {
        log((error as Error).message);
      }
    }
  };
  watch(child);

  return {
    url: `http://127.0.0.1:${port}`,
    get pid() {
      return child.pid ?? 0;
    },
    get restarts() {
      return restarts;
    },
    get lastRestartMs() {
      return lastRestartMs;
    },
    stop: async () => {
      stopping = true;
      await end(child);
    },
  };
}

async function launch(
  file: string,
  port: number,
  { announce = true, faults }: BankChildOptions,
): Promise<{ child: ChildProcess; port: number }> {
  const misbehaves = faults === undefined ? {} : { BANK_FAULTS: JSON.stringify(faults()) };
  const child = fork(fileURLToPath(new URL("main.ts", import.meta.url)), [], {
    env: { ...process.env, BANK_PORT: String(port), BANK_DATA: file, ...misbehaves },
    stdio: ["ignore", announce ? "inherit" : "ignore", "inherit", "ipc"],
  });
  const limit = AbortSignal.timeout(START_MS);
  const ready = once(child, "message", { signal: limit }).then(([message]) => (message as { port: number }).port);
  const failed = once(child, "exit", { signal: limit }).then(([code, signal]) => {
    throw new StartError(`the bank did not start (${String(signal ?? `exit code ${code}`)})`);
  });
  try {
    return { child, port: await Promise.race([ready, failed]) };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  } finally {
    // Whichever promise lost is still pending and will be rejected by the time limit.
    ready.catch(() => undefined);
    failed.catch(() => undefined);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  if (child.connected) child.disconnect();
  const limit = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await exited;
  clearTimeout(limit);
}
