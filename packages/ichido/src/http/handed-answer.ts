/**
 * An answer that a framework hands over before it writes it. Layers in front (compression, envelopes, lines set after
 * `next()`) then get the answer and its replay like any other answer. Their changes to it are not stored.
 */
import { Readable } from "node:stream";
import type { Execution, Settled } from "../core/contract/decision.ts";
import type { AnswerHead, NeutralResponse } from "../core/contract/message.ts";
import type { HeaderLine } from "../core/contract/record.ts";
import { framingHeaders, headerOf } from "../core/engine/recorder.ts";

export type Content = Uint8Array | Readable;

export interface HandedAnswer extends AnswerHead {
  readonly content: Content;
}

export type Taken =
  /** Go on with this content, and with these lines added. */
  | { readonly kind: "send"; readonly addHeaders: readonly HeaderLine[]; readonly content: Content }
  /** Go on with this in place of what the handler answered. */
  | { readonly kind: "replace"; readonly response: NeutralResponse };

/**
 * What frameworks take for the content of an answer, in bytes of its own; undefined for what only they can turn into
 * bytes.
 */
export function contentOf(value: unknown): Content | undefined {
  if (value === undefined || value === null) return Buffer.alloc(0);
  if (typeof value === "string") return Buffer.from(value);
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (value instanceof Readable) return value;
  if (value instanceof ReadableStream) return Readable.from(value as AsyncIterable<Uint8Array>);
  return value instanceof Blob ? Readable.from(value.stream() as AsyncIterable<Uint8Array>) : undefined;
}

function taken(settled: Settled, content: Content): Taken {
  return settled.kind === "replace" ? settled : { ...settled, content };
}

export const isEventStream = (type: string | undefined): boolean => /^\s*text\/event-stream\b/i.test(type ?? "");

/** What a stream reads from (a file, a connection) stays open until somebody closes it: nobody else will read this one. */
function begun(settled: Settled, content: Readable, source: Readable): Taken {
  if (settled.kind === "replace") source.destroy();
  return taken(settled, content);
}

/** Frameworks give bytes a length: a stream whose handler chose another framing must stay one. */
function isFramed(headers: readonly HeaderLine[]): boolean {
  return headers.some(([name]) => framingHeaders.includes(name));
}

function bytesOf(chunk: unknown): Uint8Array {
  return typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array);
}

async function* continued(read: readonly Uint8Array[], rest: AsyncIterator<unknown>): AsyncGenerator<Uint8Array> {
  yield* read;
  for (;;) {
    const { done, value } = await rest.next();
    if (done === true) return;
    yield bytesOf(value);
  }
}

/** Of an execution, what an answer is handed to. */
export type Settling = Pick<Execution, "bodyBytesMax" | "settle" | "beginStream">;

/** Held up to the cap until its outcome is recorded, live beyond it. Rejects with the error of the content itself. */
export async function takeAnswer(
  execution: Settling,
  { status, headers, content }: HandedAnswer,
  progress: () => void,
): Promise<Taken> {
  const head = { status, headers };
  const settle = (body: Uint8Array): Promise<Settled> =>
    execution.settle({ kind: "answered", response: { ...head, body } });
  if (content instanceof Uint8Array) return taken(await settle(content), content);
  const declared = Number(headerOf(headers, "content-length") ?? 0);
  if (isEventStream(headerOf(headers, "content-type")) || declared > execution.bodyBytesMax) {
    return begun(await execution.beginStream(head), content, content);
  }
  const chunks = content.iterator({ destroyOnReturn: false }) as AsyncIterator<unknown>;
  const read: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await chunks.next();
    progress();
    if (done === true) break;
    const bytes = Buffer.from(bytesOf(value));
    read.push(bytes);
    length += bytes.length;
    if (length > execution.bodyBytesMax) {
      const rest = Readable.from(continued(read, chunks), { objectMode: false });
      return begun(await execution.beginStream(head), rest, content);
    }
  }
  const body = read.length === 1 && read[0] !== undefined ? read[0] : Buffer.concat(read, length);
  const settled = await settle(body);
  return taken(settled, isFramed(headers) ? Readable.from([body], { objectMode: false }) : body);
}
