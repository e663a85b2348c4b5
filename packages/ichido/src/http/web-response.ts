/** Captures a web `Response`: held up to the cap until its outcome is recorded, live beyond it. */
import type { Execution, Settled } from "../core/contract/decision.ts";
import { IchidoError } from "../core/contract/errors.ts";
import type { NeutralResponse } from "../core/contract/message.ts";
import { framingHeaders, isSendableHeader, layerHeaders } from "../core/engine/recorder.ts";
import type { HeaderLine } from "../core/contract/record.ts";
import { lightContentOf } from "./light-messages.ts";
import { isPlain, payloadOf } from "./payload.ts";

/** `Headers` gives every name once, joined, except `Set-Cookie`. */
function linesOf(headers: Headers): readonly HeaderLine[] {
  return [...headers] as [string, string][];
}

function mayHaveContent(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

export function webResponseOf(answer: NeutralResponse): Response {
  const headers = new Headers();
  for (const line of answer.headers) if (isSendableHeader(line)) headers.append(...line);
  const isEmpty = answer.body.length === 0 || !mayHaveContent(answer.status);
  // Text leaves in one piece with its head, bytes as a second one.
  const body = isEmpty ? null : (payloadOf(answer) as BodyInit);
  return new Response(body, { status: answer.status, headers });
}

/** An empty body becomes null: a server would otherwise add a content type to one of the two and not to the other. */
function bodyOf(bytes: Uint8Array): BodyInit | null {
  return bytes.length === 0 ? null : (bytes as Uint8Array<ArrayBuffer>);
}

function withHeaders(response: Response, body: BodyInit | null, addHeaders: readonly HeaderLine[]): Response {
  const headers = new Headers(response.headers);
  for (const name of layerHeaders) headers.delete(name);
  // Bytes get a length from the server.
  if (!(body instanceof ReadableStream)) for (const name of framingHeaders) headers.delete(name);
  for (const [name, value] of addHeaders) headers.set(name, value);
  return new Response(mayHaveContent(response.status) ? body : null, {
    status: response.status,
    statusText: response.statusText,
    headers,
  });
}

/** What was read already, then the rest as it comes. */
function continued(
  chunks: readonly Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array> {
  const read = [...chunks];
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const ready = read.shift();
      if (ready !== undefined) {
        controller.enqueue(ready);
        return;
      }
      const part = await reader.read();
      if (part.done) controller.close();
      else controller.enqueue(part.value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function replaced(settled: Settled): Response | undefined {
  return settled.kind === "replace" ? webResponseOf(settled.response) : undefined;
}

const isEventStream = (response: Response): boolean =>
  /^\s*text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");

/**
 * The answer to send in place of what the handler returned. Rejects with the error of the handler's own answer; the
 * attempt is settled then, too, so that no key stays held without an attempt at work.
 */
export async function settleWebResponse(response: Response, execution: Execution): Promise<Response> {
  try {
    return await settleSound(response, execution);
  } catch (error) {
    const settled = await execution.settle({ kind: "threw", error });
    if (settled.kind === "replace") return webResponseOf(settled.response);
    throw error;
  }
}

/** Neither empty, nor a stream, nor too long to be held, nor content where there may be none. */
function isHeldWhole(response: Response, content: Uint8Array, { bodyBytesMax }: Execution): boolean {
  if (content.length === 0) return false;
  const declared = Number(response.headers.get("content-length") ?? 0);
  const longest = Math.max(declared, content.length);
  return longest <= bodyBytesMax && mayHaveContent(response.status) && !isEventStream(response);
}

async function settleSound(response: Response, execution: Execution): Promise<Response> {
  const { status } = response;
  const headers = linesOf(response.headers);
  const head = { status, headers };
  if (status < 200 || status > 599) {
    throw new IchidoError("usage-invalid", `a handler must return a final HTTP status, got ${status}`);
  }
  const atHand = lightContentOf(response);
  if (atHand !== undefined && isHeldWhole(response, atHand.bytes, execution)) {
    const { bytes: body, isText } = atHand;
    const settled = await execution.settle({ kind: "answered", response: { ...head, body } });
    const addHeaders = settled.kind === "send" ? settled.addHeaders : [];
    const isBare = addHeaders.length === 0 && !headers.some(([name]) => layerHeaders.includes(name));
    const isAsItWas = isText && isBare && isPlain(headers);
    return replaced(settled) ?? (isAsItWas ? response : withHeaders(response, bodyOf(body), addHeaders));
  }
  if (response.bodyUsed) {
    throw new IchidoError("usage-invalid", "a handler must return a Response whose body was not read yet");
  }
  const stream = async (body: ReadableStream<Uint8Array> | null): Promise<Response> => {
    const settled = await execution.beginStream(head);
    if (settled.kind === "send") return withHeaders(response, body, settled.addHeaders);
    // What a stream reads from stays open until somebody says that nobody will read it.
    void body?.cancel().catch(() => undefined);
    return webResponseOf(settled.response);
  };
  if (response.body === null) {
    const settled = await execution.settle({ kind: "answered", response: { ...head, body: new Uint8Array(0) } });
    return replaced(settled) ?? withHeaders(response, null, settled.kind === "send" ? settled.addHeaders : []);
  }
  if (isEventStream(response)) return stream(response.body);
  const declared = Number(response.headers.get("content-length") ?? 0);
  if (declared > execution.bodyBytesMax) return stream(response.body);

  const reader = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const part = await reader.read();
    if (part.done) break;
    const bytes = Buffer.from(part.value);
    chunks.push(bytes);
    length += bytes.length;
    if (length > execution.bodyBytesMax) return stream(continued(chunks, reader));
  }
  const body = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length);
  const settled = await execution.settle({ kind: "answered", response: { ...head, body } });
  return replaced(settled) ?? withHeaders(response, bodyOf(body), settled.kind === "send" ? settled.addHeaders : []);
}
