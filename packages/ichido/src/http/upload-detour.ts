/**
 * Leads an upload that no handler reads yet past the request's own buffer into a spool, and back: a handler that reads
 * the request later gets every byte, as if it had just arrived. The connection is paused while the spool writes.
 */
import type { IncomingMessage } from "node:http";
import { createUploadSpool } from "./upload-spool.ts";

/** Parts of Node's message that its types leave out. */
type Internals = IncomingMessage & { _consuming?: boolean; _dumped?: boolean };

export interface UploadDetour {
  /** Chunks go to `take` until all that was taken has been read. */
  readonly isOpen: boolean;
  /** Begins, and lets the connection flow. Calls `fail` when a chunk cannot be kept. */
  open(fail: (error: unknown) => void): void;
  /** In place of the request's `push`; null is the end. */
  take(chunk: Uint8Array | null): boolean;
  /** Resolves when everything taken is kept. */
  kept(): Promise<void>;
  /** From now on the request reads from here, and then from the connection again. */
  giveBack(): void;
  /** The answer is out: drops the upload where the handler has not begun to read it. */
  letGo(): void;
}

export function createUploadDetour(request: Internals, push: (chunk: Uint8Array | null) => boolean): UploadDetour {
  const spool = createUploadSpool(request);
  const pullConnection = request._read.bind(request, 0);
  const consuming = request._consuming;
  let state: "closed" | "filling" | "emptying" = "closed";
  let isEnded = false;
  let isReading = false;
  let waiting = 0;
  let lastWrite: Promise<void> = Promise.resolve();
  let failed: (error: unknown) => void = () => undefined;

  async function keep(chunk: Uint8Array): Promise<void> {
    waiting += 1;
    try {
      await spool.write(chunk);
    } catch (error) {
      failed(error);
    }
    waiting -= 1;
    if (waiting === 0 && state === "filling" && !isEnded) pullConnection();
  }

  function close(): void {
    state = "closed";
    spool.close();
    request._read = pullConnection;
    if (isEnded) push(null);
    else pullConnection();
  }

  async function readOn(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      // After the answer Node throws the rest of a body away.
      const chunk = request._dumped === true ? undefined : await spool.read();
      isReading = false;
      if (chunk === undefined) close();
      else push(chunk);
    } catch (error) {
      request.destroy(error as Error);
    }
  }

  return {
    get isOpen() {
      return state !== "closed";
    },
    open(fail) {
      state = "filling";
      failed = fail;
      request.once("close", spool.close);
      pullConnection();
    },
    take(chunk) {
      if (chunk === null) isEnded = true;
      else lastWrite = keep(chunk);
      return false;
    },
    kept: () => lastWrite,
    giveBack() {
      if (state !== "filling") return;
      state = "emptying";
      // If the handler answers without reading the body, Node must see it as unread and clear it from the connection.
      if (consuming !== undefined) request._consuming = consuming;
      request._read = () => {
        request._consuming = true;
        void readOn();
      };
      // Node may have called `_read` while chunks went into the spool, and waits for a chunk before it calls again.
      void readOn();
    },
    letGo() {
      const isRead = request.readableFlowing !== null || request.listenerCount("readable") > 0;
      if (state !== "emptying" || isRead) return;
      spool.close();
      request.resume();
    },
  };
}
