#!/usr/bin/env node
import { createInterface } from "node:readline/promises";
import type { Io } from "./command.ts";
import { exitCodes } from "./exit-codes.ts";
import { main } from "./main.ts";

const { stdin, stdout, stderr } = process;
const interruption = new AbortController();

// The reader has gone, as `| head` does: there is nobody left to tell.
stdout.on("error", (error: NodeJS.ErrnoException) =>
  process.exit(error.code === "EPIPE" ? exitCodes.ok : exitCodes.error),
);

process.on("SIGINT", () => {
  // Who asks a second time does not want to wait for what is under way.
  if (interruption.signal.aborted) process.exit(exitCodes.interrupted);
  interruption.abort();
});

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: stdin, output: stderr });
  try {
    return (await lines.question(question, { signal: interruption.signal })).trim();
  } finally {
    lines.close();
  }
}

const io: Io = {
  out: (text) => void stdout.write(text),
  err: (text) => void stderr.write(text),
  env: process.env,
  cwd: process.cwd(),
  signal: interruption.signal,
  ...(stdout.isTTY ? { columns: () => stdout.columns } : {}),
  drawsProgress: stderr.isTTY === true,
  ...(stdin.isTTY && stderr.isTTY ? { ask } : {}),
};

const code = await main(process.argv.slice(2), io);
// The project's own pools and timers must not keep a command alive that has ended.
stdout.write("", () => stderr.write("", () => process.exit(code)));
