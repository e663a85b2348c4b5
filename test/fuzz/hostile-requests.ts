/** Whole requests as bytes: keys of every form, oversized everything, bombs; each gets a documented status in bounded memory. */
import { once } from "node:events";
import { brotliCompressSync, constants, createBrotliCompress, deflateSync, gzipSync } from "node:zlib";
import { profiles } from "../../packages/ichido/src/core/contract/profiles.ts";
import { memoryStore } from "../../packages/ichido/src/stores/memory/index.ts";
import { chunksOf } from "./draw.ts";
import { openApps, requestBytesMax, type App } from "./frameworks.ts";
import { drawLines, expectedKey } from "./header-lines.ts";
import { answerIn, exchange } from "./raw-exchange.ts";
import { must, type Random, type Target } from "./target.ts";

interface Asked {
  readonly what: string;
  readonly lines: readonly string[];
  readonly pieces: readonly (string | Uint8Array)[];
  /** Statuses of this layer, or of Node where the request does not even reach it. */
  readonly statuses: readonly number[];
}

const mebibyte = 1_048_576;
const bombBytes = 256 * mebibyte;
/** What a bomb may cost: its own bound many times over, and a fraction of what is in it. */
const growthMax = 128 * mebibyte;

interface Bombs {
  readonly gzip: Uint8Array;
  readonly br: Uint8Array;
}

/** Made in pieces: whole, they would cost the memory that they must not cost. */
async function makeBombs(): Promise<Bombs> {
  const zeros = Buffer.alloc(mebibyte);
  const members = Array.from({ length: 48 }, () => gzipSync(zeros, { level: 9 }));
  const packer = createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
  const pieces: Buffer[] = [];
  packer.on("data", (piece: Buffer) => pieces.push(piece));
  for (let length = 0; length < bombBytes; length += mebibyte) if (!packer.write(zeros)) await once(packer, "drain");
  packer.end();
  await once(packer, "end");
  return { gzip: Buffer.concat(members), br: Buffer.concat(pieces) };
}

let keys = 0;
const freshKey = (): string => `Idempotency-Key: fuzz-${(keys += 1)}`;
const coded = (coding: string): readonly string[] => [freshKey(), `Content-Encoding: ${coding}`];

function sized(body: Uint8Array): readonly (string | Uint8Array)[] {
  return [`Content-Length: ${body.length}\r\n\r\n`, body];
}

/** In chunks of the sender's choice. */
function chunked(random: Random, body: Uint8Array): readonly (string | Uint8Array)[] {
  const pieces = chunksOf(random, body).filter((chunk) => chunk.length > 0);
  const framed = pieces.flatMap((chunk) => [`${chunk.length.toString(16)}\r\n`, chunk, "\r\n"]);
  return ["Transfer-Encoding: chunked\r\n\r\n", ...framed, "0\r\n\r\n"];
}

const small = Buffer.from('{"amount":100}');

function drawKeyLines(random: Random, app: App): Asked {
  // A line break is the end of a line, for whoever writes lines.
  const keyLines = drawLines(random).map((line) => Buffer.from(line.replaceAll(/[\r\n]/g, "")).toString("latin1"));
  // Web headers join lines, so that one line with a comma and a space in it cannot be told from two.
  const seen = app.name === "hono" && keyLines.length > 0 ? keyLines.join(", ").split(", ") : keyLines;
  const expected = expectedKey(seen, profiles.ietf);
  const isUndecided = expected === "undecided";
  const statuses = isUndecided ? [201, 400, 422, 431] : expected.key === undefined ? [400, 431] : [201, 422];
  return {
    what: "key lines",
    lines: keyLines.map((line) => `Idempotency-Key: ${line}`),
    pieces: sized(small),
    statuses,
  };
}

function drawOversized(random: Random): Asked {
  const over = Buffer.alloc(requestBytesMax + random.pick([1, 2, 1_000, 200_000]), "x");
  switch (random.int(0, 5)) {
    case 0:
      return { what: "a body over the limit", lines: [freshKey()], pieces: sized(over), statuses: [413] };
    case 1:
      return {
        what: "chunks over the limit",
        lines: [freshKey()],
        pieces: chunked(random, over.subarray(0, requestBytesMax + 64)),
        statuses: [413],
      };
    case 2:
      return {
        what: "a body at the limit",
        lines: [freshKey()],
        pieces: sized(over.subarray(0, requestBytesMax)),
        statuses: [201],
      };
    case 3:
      return {
        what: "a key of a megabyte",
        lines: [`${freshKey()}${"k".repeat(mebibyte)}`],
        pieces: sized(small),
        statuses: [431],
      };
    case 4:
      return {
        what: "a key over the limit",
        lines: [`${freshKey()}${"k".repeat(random.int(256, 10_000))}`],
        pieces: sized(small),
        statuses: [400],
      };
    default: {
      const many = Array.from({ length: 10_000 }, (_, at) => `x-${at}: y`);
      return { what: "ten thousand headers", lines: [freshKey(), ...many], pieces: sized(small), statuses: [431] };
    }
  }
}

function drawCoded(random: Random, bombs: Bombs): Asked {
  const bytes = random.bytes(random.int(1, 200));
  switch (random.int(0, 8)) {
    case 0:
      return { what: "a gzip bomb", lines: coded("gzip"), pieces: sized(bombs.gzip), statuses: [413] };
    case 1:
      return { what: "a brotli bomb", lines: coded("br"), pieces: sized(bombs.br), statuses: [413] };
    case 2:
      return { what: "a bomb in a bomb", lines: coded("br, gzip"), pieces: sized(gzipSync(bombs.br)), statuses: [413] };
    case 3:
      return {
        what: "a coding that nobody knows",
        lines: coded(random.pick(["zip", "__proto__", "constructor", "toString", "zstd "])),
        pieces: sized(bytes),
        statuses: [400],
      };
    case 4:
      return {
        what: "too many codings",
        lines: coded(Array.from({ length: random.int(5, 2_000) }, () => "gzip").join(",")),
        pieces: sized(bytes),
        statuses: [400],
      };
    case 5:
      return { what: "no gzip at all", lines: coded("gzip"), pieces: sized(bytes), statuses: [400] };
    case 6:
      return {
        what: "gzip cut short",
        lines: coded("gzip"),
        pieces: sized(gzipSync(bytes).subarray(0, 15)),
        statuses: [400],
      };
    default: {
      const [coding, packed] = random.pick([
        ["gzip", gzipSync(bytes)],
        ["x-gzip", gzipSync(bytes)],
        ["br", brotliCompressSync(bytes)],
        ["deflate", deflateSync(bytes)],
        ["gzip, br", brotliCompressSync(gzipSync(bytes))],
        ["identity", bytes],
      ] as const);
      const pieces = random.chance(0.5) ? sized(packed) : chunked(random, packed);
      return { what: `sound ${coding}`, lines: coded(coding), pieces, statuses: [201] };
    }
  }
}

const peakBytes = (): number => process.resourceUsage().maxRSS * 1_024;

export const hostileRequests: Target = {
  name: "hostile-requests",
  promise: "H-01 to H-13 S11 S12 a hostile request gets its documented status in bounded memory, and runs nothing",
  inputs: 250,
  async open() {
    const apps = await openApps(() => memoryStore({ scopeShareMax: 1 }));
    const bombs = await makeBombs();
    must(Math.max(bombs.gzip.length, bombs.br.length) < requestBytesMax, "the bombs do not fit a request");

    async function attempt(random: Random): Promise<void> {
      const app: App = random.pick(apps);
      const kind = random.int(0, 9);
      const asked = kind < 6 ? drawKeyLines(random, app) : kind < 8 ? drawOversized(random) : drawCoded(random, bombs);
      const head = [
        "POST / HTTP/1.1",
        "Host: a",
        "Connection: close",
        "Content-Type: application/octet-stream",
        ...asked.lines,
      ];
      const runs = app.runs();
      const peakBefore = peakBytes();
      const bytes = await exchange(app.port, [`${head.join("\r\n")}\r\n`, ...asked.pieces]);
      const answer = answerIn(bytes);
      const shown = [app.name, asked.what, asked.lines, bytes] as const;
      // A server that stops reading may cut the connection before the answer has been read.
      if (answer !== undefined || !asked.statuses.some((status) => status === 413 || status === 431)) {
        must(answer !== undefined && asked.statuses.includes(answer.status), "another status", ...shown);
      }
      const isRun = answer?.status === 201 && !bytes.includes("idempotency-replayed");
      must(app.runs() - runs === (isRun ? 1 : 0), "run though refused, or not run", ...shown);
      must(peakBytes() - peakBefore < growthMax, "it took too much memory", ...shown);
    }
    return { attempt, close: async () => void (await Promise.all(apps.map((app) => app.close()))) };
  },
};
