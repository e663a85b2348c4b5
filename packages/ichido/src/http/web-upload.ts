/** A large upload in a web `Request`: this file reads it once into a spool, and the handler reads it from there. */
import { notInFull, tooLarge } from "./body-limits.ts";
import type { UploadHash } from "./upload-hash.ts";
import { createUploadSpool, spoolMemoryBytes, type UploadSpool } from "./upload-spool.ts";

/** Small ones are read from a copy, which costs their size in memory and leaves the request as it is. */
export function needsSpool(request: Request): boolean {
  const declared = request.headers.get("content-length");
  return declared === null || !(Number(declared) <= spoolMemoryBytes);
}

const spools = new WeakMap<Request, UploadSpool>();

/**
 * The answer is made: drops an upload that the handler has not begun to read, unless the answer is that body itself.
 */
export function letGoUpload(request: Request, answer?: Response): void {
  const spool = spools.get(request);
  if (spool === undefined || request.bodyUsed || request.body?.locked === true) return;
  if (answer?.body !== request.body) spool.close();
}

/** Everything of a `Request` that shows its body. */
const bodyMembers = ["body", "bodyUsed", "arrayBuffer", "blob", "bytes", "clone", "formData", "json", "text"] as const;

/**
 * The request object stays the same, since frameworks put their own properties on it; only its body is replaced. The
 * platform itself does not look at these members: `new Request(request)` needs `{ body: request.body, duplex: "half"
 * }`.
 */
function giveBody(request: Request, stream: ReadableStream<Uint8Array>): void {
  const { method, headers, signal } = request;
  const again = new Request(request.url, { method, headers, signal, body: stream, duplex: "half" } as RequestInit);
  for (const name of bodyMembers) {
    if (!(name in again)) continue;
    Object.defineProperty(request, name, {
      configurable: true,
      get: () => {
        const member: unknown = again[name as "body"];
        return typeof member === "function" ? (member.bind(again) as unknown) : member;
      },
    });
  }
}

function streamOf(
  spool: UploadSpool,
  rest: ReadableStreamDefaultReader<Uint8Array> | undefined,
): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = (await spool.read()) ?? (await rest?.read())?.value;
        if (chunk !== undefined) return controller.enqueue(chunk);
        spool.close();
        return controller.close();
      },
      async cancel(reason) {
        spool.close();
        await rest?.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Hashes the body while it is spooled. The handler can read the request afterwards, also when this fails. */
export async function spoolUpload(request: Request, hash: UploadHash, bytesMax: number): Promise<void> {
  const reader = (request.body as ReadableStream<Uint8Array>).getReader();
  const spool = createUploadSpool(request);
  spools.set(request, spool);
  let length = 0;
  for (;;) {
    let part: Awaited<ReturnType<typeof reader.read>>;
    try {
      part = await reader.read();
    } catch (error) {
      spool.close();
      throw notInFull(error);
    }
    if (part.done) break;
    length += part.value.length;
    await spool.write(part.value);
    if (length > bytesMax) {
      giveBody(request, streamOf(spool, reader));
      throw tooLarge(bytesMax);
    }
    hash.update(part.value);
  }
  giveBody(request, streamOf(spool, undefined));
}
