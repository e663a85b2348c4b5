/** The neutral request and response: all that the core knows about HTTP. */
import type { HeaderLine } from "./record.ts";

/**
 * The decoded content of a request. `bytes` where the adapter can get them (content codings removed), else the `parsed`
 * value: then the handler, too, sees nothing more.
 */
export type RequestBody =
  | { readonly kind: "none" }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** A multipart body, hashed as it arrived and not kept: the hash of all its bytes, and the reading of its parts. */
  | { readonly kind: "hashed"; readonly digest: string; readonly parts: Pick<MultipartHash, "read" | "kept"> }
  | { readonly kind: "parsed"; readonly value: unknown };

export interface NeutralRequest<Native = unknown> {
  readonly method: string;
  /** Path and query as the client sent them, mount points included. */
  readonly target: string;
  /** Every line of a header, unmerged; an empty array when absent. Names are asked for in lower case. */
  headerLines(name: string): readonly string[];
  /** Called once, after the key was accepted. Fails with a `RequestBodyError` where the key must not be claimed. */
  body(): RequestBody | Promise<RequestBody>;
  /** The framework's own request, for `scope` and `labels`. */
  readonly native: Native;
}

/** What an answer sends before its body. Names of headers are in lower case. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: readonly HeaderLine[];
}

/** An answer as it would go over the wire. */
export interface NeutralResponse extends AnswerHead {
  /**
   * Bytes of its own: the handler may fill its buffer with the next answer while this one waits for the store, and late
   * writes, waiting duplicates and the replay cache read it after that.
   */
  readonly body: Uint8Array;
}

export type MultipartReading =
  | { readonly kind: "parts"; readonly text: string }
  /** No well-formed multipart body, or past the bounds. */
  | { readonly kind: "malformed" }
  /** It begins correctly and has no end: it was cut on the way. */
  | { readonly kind: "truncated" };

export interface MultipartHash {
  update(chunk: Uint8Array): void;
  /** The contents of the field that was asked for, as they arrived. */
  readonly kept: readonly Buffer[];
  /** Call it after the last chunk, and again for other fields. */
  read(fields?: readonly string[]): MultipartReading;
}
