/** Header lines that no answer of ours may carry, as an edited or restored row, or another version, may have them. */
import type { HeaderLine } from "../../packages/ichido/src/core/contract/record.ts";
import { neverKeptHeaders } from "../../packages/ichido/src/core/engine/recorder.ts";
import { inheritedNames, listOf } from "./draw.ts";
import type { Random } from "./target.ts";

/** What must not reach a caller carries this word. */
export const forbidden = "forbidden";

const soundNames = [
  "x-ok",
  "link",
  "location",
  "etag",
  "content-language",
  ...inheritedNames.map((name) => name.toLowerCase()),
];
const brokenNames = ["x y", "x:y", "", "X-Upper", ":status", "é", "x\r\nx-injected", "x\n", "x\0", "(", "set-cookie "];
const soundValues = ["a", "a, b", 'a; b="c"', "", "é", "\t tab", "x".repeat(300)];
const breaks = ["\r\n", "\n", "\r", "\0", "\x7f", "\u2028", "€", "\ud800"];
const never = [
  ...neverKeptHeaders,
  "access-control-allow-origin",
  "access-control-expose-headers",
  "ratelimit-limit",
  "x-ratelimit-reset",
  "x-b3-traceid",
];

/** Of framing and time, which must be the server's own whatever the row says. */
const framing = ["content-length", "transfer-encoding", "connection", "date", "keep-alive", "upgrade", "trailer", "te"];

function drawLine(random: Random): HeaderLine {
  switch (random.int(0, 5)) {
    case 0:
      return [random.pick(never), random.pick([`a=${forbidden}`, `${forbidden}, chunked`])];
    case 1:
      return [random.pick(framing), random.pick(["0", "chunked", "close", "5", "99999", `${forbidden}`])];
    case 2:
      return [random.pick(brokenNames), forbidden];
    case 3:
      return [random.pick(soundNames), `a${random.pick(breaks)}x-injected: ${forbidden}`];
    case 4:
      return [random.pick(soundNames), `a\r\n\r\nHTTP/1.1 200 OK\r\nx-injected: ${forbidden}`];
    default:
      return [random.pick(soundNames), random.pick(soundValues)];
  }
}

export const drawLines = (random: Random): readonly HeaderLine[] => listOf(random, 6, () => drawLine(random));

/** By rules of their own, not by the code under trial. */
export function isSoundLine([name, value]: HeaderLine): boolean {
  return soundNames.includes(name) && !value.split("").some((letter) => breaks.includes(letter) || letter > "\xff");
}

export const statuses = [
  200,
  201,
  202,
  204,
  303,
  304,
  402,
  404,
  500,
  599,
  100,
  101,
  103,
  0,
  -1,
  199,
  600,
  99_999,
  200.5,
  Number.NaN,
];

export const isFinal = (status: number): boolean => Number.isInteger(status) && status >= 200 && status < 600;
