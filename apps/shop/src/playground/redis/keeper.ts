/**
 * Keeps a server for its parent: starts it, says when it answers, and ends it when the channel to the parent closes, which
 * also happens when the parent is killed. The server itself has no such channel.
 */
import { spawn } from "node:child_process";

const [, , program = "", ...settings] = process.argv;
const READY = "Ready to accept connections";

const server = spawn(program, settings, { stdio: ["ignore", "pipe", "ignore"] });
server.once("error", () => process.exit(1));
server.once("exit", (code) => process.exit(code ?? 1));
let printed = "";
server.stdout.setEncoding("utf8").on("data", (text: string) => {
  // What it prints is looked at until it is ready, and read on so that it never waits for a reader.
  if (printed === READY) return;
  printed += text;
  if (!printed.includes(READY)) return;
  printed = READY;
  process.send?.({ pid: server.pid });
});

const wait = (): void => undefined;
process.on("SIGINT", wait).on("SIGTERM", wait);
process.once("disconnect", () => server.kill("SIGKILL"));
