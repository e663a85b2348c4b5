/**
 * Content codings of a request (RFC 9110 section 8.4), removed so that equal content compares equal however it was
 * sent.
 */
import { RequestBodyError } from "../core/contract/errors.ts";

interface Bound {
  readonly maxOutputLength: number;
}
type Decode = (bytes: Uint8Array, bound: Bound) => Promise<Uint8Array>;
type Zlib = typeof import("node:zlib");
type Unpack = (bytes: Uint8Array, bound: Bound, done: (error: Error | null, decoded: Uint8Array) => void) => void;

/** Loads zlib with the first body that needs it: few do, and every import of an adapter would pay for it. */
function by(choose: (zlib: Zlib, bytes: Uint8Array) => Unpack): Decode {
  return async (bytes, bound) => {
    const unpack = choose(await import("node:zlib"), bytes);
    return new Promise((resolve, reject) => {
      unpack(bytes, bound, (error, decoded) => (error === null ? resolve(decoded) : reject(error)));
    });
  };
}

const decoders: Readonly<Record<string, Decode>> = {
  gzip: by((zlib) => zlib.gunzip),
  "x-gzip": by((zlib) => zlib.gunzip),
  br: by((zlib) => zlib.brotliDecompress),
  // Some clients send the bare deflate stream without its zlib wrapper, whose first byte always ends in 8.
  deflate: by((zlib, bytes) => (((bytes[0] ?? 0) & 15) === 8 ? zlib.inflate : zlib.inflateRaw)),
};

/** More layers than any sender uses; each costs a pass over the content. */
const codingsMax = 4;

export function codingsOf(lines: readonly string[]): readonly string[] {
  return lines
    .join(",")
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity");
}

async function decodeOne(bytes: Uint8Array, coding: string, bytesMax: number): Promise<Uint8Array> {
  const decode = Object.hasOwn(decoders, coding) ? decoders[coding] : undefined;
  if (decode === undefined) {
    throw new RequestBodyError(
      "request-unreadable",
      `The content coding ${JSON.stringify(coding.slice(0, 40))} is not known here. Use gzip, deflate, br or none.`,
    );
  }
  try {
    return await decode(bytes, { maxOutputLength: bytesMax });
  } catch (error) {
    if ((error as { code?: unknown }).code === "ERR_BUFFER_TOO_LARGE") {
      throw new RequestBodyError("request-too-large", `The decoded body is larger than ${bytesMax} bytes.`);
    }
    const message = `The body is not sound ${coding} content, as its Content-Encoding says.`;
    throw new RequestBodyError("request-unreadable", message, { cause: error });
  }
}

/** Codings are listed in the order in which they were applied. The output is bounded at every layer. */
export async function decodeContent(
  bytes: Uint8Array,
  codings: readonly string[],
  bytesMax: number,
): Promise<Uint8Array> {
  if (codings.length > codingsMax) {
    throw new RequestBodyError("request-unreadable", `The body has ${codings.length} content codings.`);
  }
  let decoded = bytes;
  for (const coding of codings.toReversed()) {
    if (decoded.length === 0) return decoded;
    decoded = await decodeOne(decoded, coding, bytesMax);
  }
  return decoded;
}
