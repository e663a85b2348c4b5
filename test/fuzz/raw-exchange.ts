/** One request as bytes, and whatever came back as bytes, up to the end of the connection. */
import { connect } from "node:net";

/** What a caller that reads no lines at all can see. */
export async function exchange(port: number, pieces: readonly (string | Uint8Array)[]): Promise<Buffer> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  // A server that refuses what it has not read to the end cuts the connection.
  socket.on("error", () => undefined);
  const next = (event: string): Promise<void> => new Promise((resolve) => void socket.once(event, () => resolve()));
  const closed = next("close");
  await Promise.race([next("connect"), closed]);
  for (const piece of pieces) {
    if (socket.destroyed) break;
    if (!socket.write(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece)) {
      await Promise.race([next("drain"), closed]);
    }
  }
  await closed;
  return Buffer.concat(chunks);
}

export interface RawAnswer {
  readonly status: number;
  readonly lines: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** Undefined where the bytes are not one answer: none, or something that is no HTTP. */
export function answerIn(bytes: Buffer): RawAnswer | undefined {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0) return undefined;
  const [first = "", ...rest] = bytes.toString("latin1", 0, end).split("\r\n");
  const status = /^HTTP\/1\.1 (\d{3})(?: [\t -~\x80-\xff]*)?$/.exec(first)?.[1];
  const lines = rest.map((line) => /^([!#$%&'*+\-.^_`|~\w]+):[ \t]*([\t -~\x80-\xff]*)$/.exec(line));
  if (status === undefined || lines.includes(null)) return undefined;
  return {
    status: Number(status),
    lines: lines.map((line) => [(line?.[1] ?? "").toLowerCase(), line?.[2] ?? ""] as const),
    body: bytes.subarray(end + 4),
  };
}

export const valuesOf = ({ lines }: RawAnswer, name: string): readonly string[] =>
  lines.filter(([each]) => each === name).map(([, value]) => value);

/** The body without its chunks; undefined where they do not end with the bytes. */
export function contentOf(answer: RawAnswer): Buffer | undefined {
  if (valuesOf(answer, "transfer-encoding").length === 0) return answer.body;
  const pieces: Buffer[] = [];
  for (let at = 0; ;) {
    const end = answer.body.indexOf("\r\n", at);
    const length = Number.parseInt(answer.body.toString("latin1", at, Math.max(at, end)), 16);
    if (end < 0 || Number.isNaN(length)) return undefined;
    at = end + 2 + length + 2;
    if (length === 0) return at === answer.body.length ? Buffer.concat(pieces) : undefined;
    pieces.push(answer.body.subarray(end + 2, end + 2 + length));
  }
}
