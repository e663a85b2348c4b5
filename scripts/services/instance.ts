/**
 * One private server process: random loopback port, temporary folder, ended and removed with its owner. Crash tests may
 * do to it what must never be done to a server that others use.
 */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { reapAfterDeath } from "../../packages/ichido/src/testing/reaper.ts";
import type { Will } from "../../packages/ichido/src/testing/reaper.ts";
import { giveToServer, serverAccount } from "./account.ts";
import { familyOf, gone, signal as send } from "./process-tree.ts";

export interface Instance {
  readonly url: string;
  readonly port: number;
  /** Changes with every restart. */
  readonly pid: number;
  readonly folder: string;
  /** Sends the signal to the server's main process; waits for the end of the family when the signal is a deadly one. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Stops every process of the server in its tracks (SIGSTOP): connections stay open and nothing answers. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same port and data; ends it first when it still runs. */
  restart(): Promise<void>;
  /** Ends it and removes its folder, unless the folder was given. Idempotent. */
  stop(): Promise<void>;
  log(): string;
}

export interface Recipe {
  readonly name: string;
  /** Where its data are and stay, for a later launch to find. Without one: a temporary folder that goes with the server. */
  readonly folder?: string | undefined;
  /** Prepares the folder (data directory, configuration) once. */
  prepare?(folder: string, port: number): Promise<void> | void;
  command(folder: string, port: number): { readonly program: string; readonly args: readonly string[] };
  env?(folder: string, port: number): Readonly<Record<string, string>>;
  url(port: number): string;
  /** Answers when the server does its real work for a client; throws or says false until then. */
  ready(url: string, port: number): Promise<boolean>;
  /** Ends the server quickly and cleanly. Default SIGTERM. */
  readonly endSignal?: NodeJS.Signals;
  /** After the last process is gone, before the folder is. */
  afterwards?(folder: string): Promise<void> | void;
}

const readyMs = 60_000;
const endMs = 10_000;
const portAttempts = 3;
const deadly: readonly string[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGQUIT", "SIGABRT", "SIGSEGV"];

export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `ichido-${name}-`));
  giveToServer(folder);
  return folder;
}

function givenFolder(folder: string): string {
  mkdirSync(folder, { recursive: true });
  giveToServer(folder);
  return folder;
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port for a loopback listener");
  return address.port;
}

export async function launch(recipe: Recipe): Promise<Instance> {
  for (let attempt = 1; ; attempt += 1) {
    const folder = recipe.folder === undefined ? temporaryFolder(recipe.name) : givenFolder(recipe.folder);
    const running = new RunningInstance(recipe, folder, await freePort());
    try {
      await running.prepare();
      await running.start();
      return running;
    } catch (error) {
      const taken = /address already in use|eaddrinuse|could not bind/i.test(running.log());
      await running.stop();
      // Between the look for a free port and its use somebody else may take it.
      if (!taken || attempt >= portAttempts) throw error;
    }
  }
}

class RunningInstance implements Instance {
  readonly port: number;
  readonly folder: string;
  readonly url: string;
  readonly #recipe: Recipe;
  readonly #folderWill: Will | undefined;
  #child: ChildProcess | undefined;
  #family: readonly number[] = [];
  #processWill: Will | undefined;
  #stopped = false;

  constructor(recipe: Recipe, folder: string, port: number) {
    this.#recipe = recipe;
    this.folder = folder;
    this.port = port;
    this.url = recipe.url(port);
    this.#folderWill = recipe.folder === folder ? undefined : reapAfterDeath({ folder });
  }

  get pid(): number {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error(`${this.#recipe.name} was never started`);
    return pid;
  }

  log(): string {
    try {
      return readFileSync(join(this.folder, "server.log"), "utf8");
    } catch {
      return "";
    }
  }

  /** A kept folder is prepared once; a preparation that was cut off is done again from the start. */
  async prepare(): Promise<void> {
    const mark = join(this.folder, "prepared");
    if (existsSync(mark)) return;
    if (this.#folderWill === undefined) rmSync(join(this.folder, "data"), { recursive: true, force: true });
    await this.#recipe.prepare?.(this.folder, this.port);
    writeFileSync(mark, "");
  }

  async start(): Promise<void> {
    const { program, args } = this.#recipe.command(this.folder, this.port);
    const log = openSync(join(this.folder, "server.log"), "a");
    const child = spawn(program, args, {
      cwd: this.folder,
      env: {
        PATH: process.env["PATH"],
        HOME: this.folder,
        LC_ALL: "C",
        TZ: "UTC",
        ...this.#recipe.env?.(this.folder, this.port),
      },
      stdio: ["ignore", log, log],
      // Out of reach of a Ctrl-C meant for the test run, which ends it in its own order.
      detached: true,
      ...serverAccount(),
    });
    closeSync(log);
    let failure: Error | undefined;
    child.on("error", (error) => (failure = error));
    child.unref();
    this.#child = child;
    if (child.pid !== undefined) {
      const will = reapAfterDeath({ pid: child.pid, signal: this.#recipe.endSignal ?? "SIGTERM" });
      this.#processWill = will;
      child.on("exit", () => will.forget());
    }
    const deadline = Date.now() + readyMs;
    for (;;) {
      if (failure !== undefined || child.exitCode !== null || child.signalCode !== null || Date.now() > deadline) {
        const why =
          failure?.message ??
          (child.exitCode === null && child.signalCode === null
            ? `not ready after ${readyMs} ms`
            : `ended with ${child.exitCode ?? child.signalCode}`);
        throw new Error(`${this.#recipe.name} on port ${this.port}: ${why}\n${this.log().slice(-2000)}`);
      }
      if (await this.#recipe.ready(this.url, this.port).catch(() => false)) return;
      await sleep(15);
    }
  }

  async kill(name: NodeJS.Signals = "SIGKILL"): Promise<void> {
    if (!deadly.includes(name)) {
      send(this.pid, name);
      return;
    }
    this.#family = familyOf(this.pid);
    send(this.pid, name);
    if (await gone(this.#family, endMs)) return;
    for (const pid of this.#family) send(pid, "SIGKILL");
    await gone(this.#family, endMs);
  }

  pause(): void {
    for (const pid of familyOf(this.pid)) send(pid, "SIGSTOP");
  }

  resume(): void {
    for (const pid of familyOf(this.pid)) send(pid, "SIGCONT");
  }

  async restart(): Promise<void> {
    if (this.#stopped) throw new Error(`${this.#recipe.name} was stopped and its folder removed; start a new one`);
    await this.#end();
    await this.start();
  }

  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    await this.#end();
    await this.#recipe.afterwards?.(this.folder);
    if (this.#folderWill === undefined) return;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
    this.#folderWill.forget();
  }

  async #end(): Promise<void> {
    const pid = this.#child?.pid;
    if (pid !== undefined) {
      this.resume();
      await this.kill(this.#recipe.endSignal ?? "SIGTERM");
    }
    this.#processWill?.forget();
  }
}
