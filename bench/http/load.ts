/**
 * The load generator, a process of its own: raw HTTP/1.1 over kept connections, one request in flight on each, bytes made
 * beforehand, one buffer for all that is read. Of an answer it looks at status and length only, so that it costs a
 * fraction of what any server costs: it takes its core from the server of the store.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { AnswerReader, statusOf } from "./answer.ts";
import type { Load, LoadAsk, Turn } from "./contract.ts";
import { requestBody } from "./request-body.ts";

/** Keys that are known when replays begin; more than connections, so that none is in flight twice. */
const knownKeys = 1_000;
const binUs = 10;
const bins = new Uint32Array(500_000);
const hex = Buffer.from("0123456789abcdef");
const readBuffer = Buffer.alloc(65_536);
const slowMs = 5;
/** Without any answer for so many looks, a turn has failed. */
const looksMax = 6;
const lookMs = 5_000;

/** One connection with its own copy of the request, whose key is written in place. */
interface Line {
  readonly socket: Socket;
  readonly reader: AnswerReader;
  /** Of an answer that did not come in one piece. */
  pending: Buffer | undefined;
  read: (bytes: Buffer) => void;
  sentMs: number;
  expected: number;
}

let lines: Line[] = [];
const ignore = (): void => {};

function template(turn: Turn, body: Buffer): { readonly bytes: Buffer; readonly keyAt: number } {
  const slow = turn.mix === "slow" ? `X-Slow-Ms: ${slowMs}\r\n` : "";
  const head =
    "POST /payments HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ann\r\nContent-Type: application/json\r\n" +
    `${slow}Content-Length: ${body.length}\r\nIdempotency-Key: `;
  return { bytes: Buffer.concat([Buffer.from(`${head}${"0".repeat(32)}\r\n\r\n`), body]), keyAt: head.length };
}

/** Random, as keys of real clients are: a sequence would spare the index of a database. */
function writeNewKey(bytes: Buffer, at: number): void {
  for (let word = at; word < at + 32; word += 8) {
    let value = (Math.random() * 0x1_0000_0000) | 0;
    for (let digit = word; digit < word + 8; digit += 1) {
      bytes[digit] = hex[value & 15] ?? 0;
      value >>>= 4;
    }
  }
}

async function run(turn: Turn): Promise<Load> {
  bins.fill(0);
  const body = requestBody(turn.bodyBytes);
  const other = Buffer.from(String(body).replace('"amount":100', '"amount":200'));
  const known = Array.from({ length: knownKeys }, (_, number) =>
    Buffer.from(`${turn.bodyBytes}-${number}`.padStart(32, "k")),
  );
  const total = turn.mix === "fill" ? knownKeys : (turn.requests ?? Number.POSITIVE_INFINITY);
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const endMs = startMs + turn.seconds * 1_000;
  let [asked, done, newKeys, open] = [0, 0, 0, lines.length];
  let lastMs = startMs;
  let patience: NodeJS.Timeout | undefined;

  await new Promise<void>((resolve, reject) => {
    const finish = (line: Line): void => {
      // A server may close a connection that has nothing left to do.
      line.socket.removeAllListeners("close");
      open -= 1;
      if (open === 0) resolve();
    };
    const begin = (line: Line): void => {
      const { bytes, keyAt } = template(turn, turn.mix === "mismatch" ? other : body);
      const send = (nowMs: number): void => {
        if (asked >= total || nowMs >= endMs) return finish(line);
        const fresh = turn.mix === "new" || turn.mix === "slow" || (turn.mix === "half" && asked % 2 === 0);
        if (fresh) {
          writeNewKey(bytes, keyAt);
          newKeys += 1;
        } else known[asked % knownKeys]?.copy(bytes, keyAt);
        line.expected = fresh || (turn.mix !== "replay" && turn.mix !== "half") ? turn.status : turn.replayStatus;
        asked += 1;
        line.sentMs = nowMs;
        line.socket.write(bytes);
      };
      line.read = (chunk) => {
        const all = line.pending === undefined ? chunk : Buffer.concat([line.pending, chunk]);
        const length = line.reader.lengthOf(all);
        // What was read lies in a buffer that is read into again.
        if (length === undefined || all.length < length) return void (line.pending = Buffer.from(all));
        if (all.length > length) return reject(new Error(`more than one answer: ${all.toString("latin1", length)}`));
        line.pending = undefined;
        if (statusOf(all) !== line.expected) return reject(new Error(wrongStatus(all, line, turn)));
        lastMs = performance.now();
        const bin = Math.min(bins.length - 1, Math.floor(((lastMs - line.sentMs) * 1_000) / binUs));
        bins[bin] = (bins[bin] ?? 0) + 1;
        done += 1;
        send(lastMs);
      };
      line.socket.on("close", () => reject(new Error("the server closed a connection")));
      send(performance.now());
    };
    lines.forEach(begin);
    let [before, looks] = [0, 0];
    // Looks, not one deadline: a machine that was frozen has had no time to answer.
    patience = setInterval(() => {
      looks = done === before ? looks + 1 : 0;
      before = done;
      if (looks === looksMax) reject(new Error(`${asked - done} of ${asked} answers are missing (${turn.mix})`));
    }, lookMs);
  }).finally(() => {
    clearInterval(patience);
    for (const line of lines) {
      line.read = ignore;
      line.socket.removeAllListeners("close");
    }
  });
  if (turn.mix === "fill" && done < total) throw new Error(`only ${done} of ${total} keys in ${turn.seconds} s`);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (lastMs - startMs) / 1_000;
  const busy = (user + system) / 1e6 / seconds;
  return { requests: done, newKeys, seconds, p50Ms: quantileMs(done, 0.5), p99Ms: quantileMs(done, 0.99), busy };
}

function wrongStatus(bytes: Buffer, { expected }: Line, { mix }: Turn): string {
  return `status ${statusOf(bytes)} instead of ${expected} (${mix}): ${bytes.toString("latin1", 0, 500)}`;
}

function quantileMs(count: number, share: number): number {
  let left = count * share;
  const bin = bins.findIndex((each) => (left -= each) <= 0);
  return ((bin + 0.5) * binUs) / 1_000;
}

async function answer(ask: LoadAsk): Promise<unknown> {
  if (ask.do === "run") return run(ask.turn);
  for (const { socket } of lines) socket.destroy();
  if (ask.do === "disconnect") return (lines = []);
  lines = Array.from({ length: ask.connections }, () => {
    const callback = (bytes: number): boolean => {
      line.read(readBuffer.subarray(0, bytes));
      return true;
    };
    const onread = { buffer: readBuffer, callback };
    const socket = connect({ port: ask.port, host: "127.0.0.1", onread }).setNoDelay(true);
    // What follows is a close, and the turn says what that means.
    socket.on("error", ignore);
    const line: Line = { socket, reader: new AnswerReader(), pending: undefined, read: ignore, sentMs: 0, expected: 0 };
    return line;
  });
  await Promise.all(lines.map(({ socket }) => once(socket, "connect")));
  return "connected";
}

process.on("message", (ask: LoadAsk) => {
  answer(ask).then(
    (value) => process.send?.({ value }),
    (error: unknown) => process.send?.({ error: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => process.exit());
process.send?.({ value: "ready" });
