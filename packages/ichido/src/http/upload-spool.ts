/**
 * Keeps the bytes of an upload from their arrival until the handler reads them: the key can be claimed only when all of
 * them have arrived. The first ones stay in memory, the rest waits in a temporary file. The file is unlinked as soon as
 * it is open: no other process can open it, and it disappears with this process however that ends.
 */
import { randomUUID } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { RequestBodyError } from "../core/contract/errors.ts";

/** Up to here an upload stays in memory. */
export const spoolMemoryBytes = 1_048_576;
const readBytesMax = 64 * 1024;

export interface UploadSpool {
  /** Queued; resolves when it is kept. */
  write(chunk: Uint8Array): Promise<void>;
  /** The bytes in the order written; undefined when there are no more. One call at a time. */
  read(): Promise<Uint8Array | undefined>;
  /** Frees memory and file. May be called at any time, and again. */
  close(this: void): void;
}

/** For requests that are garbage-collected before they were read to the end: their file must not stay open. */
const forgotten = new FinalizationRegistry<() => void>((close) => close());

/** Loaded where it is needed: most requests are never so large, and some platforms have no files. */
async function openFile(): Promise<FileHandle> {
  const [fs, os, path] = await Promise.all([import("node:fs/promises"), import("node:os"), import("node:path")]);
  const name = path.join(os.tmpdir(), `ichido-upload-${randomUUID()}`);
  const file = await fs.open(name, "wx+", 0o600);
  try {
    await fs.unlink(name);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

function unavailable(cause: unknown): RequestBodyError {
  return new RequestBodyError(
    "body-unavailable",
    `The upload could not be kept in a temporary file (${(cause as Error).message}). Make room for it, or set uploadBytesMax to ${spoolMemoryBytes} at most, so that uploads stay in memory.`,
    { cause },
  );
}

/** The spool lives no longer than `owner`, the request. So the written bytes must hold no reference to `owner`. */
export function createUploadSpool(owner: object): UploadSpool {
  const chunks: Uint8Array[] = [];
  let held = 0;
  let file: FileHandle | undefined;
  let written = 0;
  let position = 0;
  let isClosed = false;
  let work: Promise<unknown> = Promise.resolve();

  async function keep(chunk: Uint8Array): Promise<void> {
    if (isClosed) return;
    if (file === undefined && held + chunk.length <= spoolMemoryBytes) {
      chunks.push(chunk);
      held += chunk.length;
      return;
    }
    file ??= await openFile();
    for (let offset = 0; offset < chunk.length;) {
      const { bytesWritten } = await file.write(chunk, offset, chunk.length - offset, written);
      offset += bytesWritten;
      written += bytesWritten;
    }
  }

  async function next(): Promise<Uint8Array | undefined> {
    const chunk = chunks.shift();
    if (chunk !== undefined || isClosed || file === undefined || position === written) return chunk;
    const buffer = Buffer.allocUnsafeSlow(Math.min(readBytesMax, written - position));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) throw new Error("it is shorter than what was written");
    position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  /** One after the other: the file is never closed under a task. */
  function queue<Value>(task: () => Promise<Value>): Promise<Value> {
    const result = work.then(task).catch((error: unknown) => {
      throw unavailable(error);
    });
    work = result.catch(close);
    return result;
  }

  function close(): void {
    if (isClosed) return;
    isClosed = true;
    chunks.length = 0;
    forgotten.unregister(chunks);
    void work.then(() => file?.close()).catch(() => undefined);
  }

  forgotten.register(owner, close, chunks);
  return { write: (chunk) => queue(() => keep(chunk)), read: () => queue(next), close };
}
