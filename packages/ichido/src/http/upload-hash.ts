/** Hashes a multipart body as it arrives, as a whole and by parts, and does not keep it. */
import { createHash } from "node:crypto";
import { RequestBodyError } from "../core/contract/errors.ts";
import type { MediaType } from "../core/request/media-type.ts";
import type { RequestBody } from "../core/contract/message.ts";
import { createMultipartHash } from "../core/request/multipart.ts";
import { codingsOf } from "./content-coding.ts";

export interface UploadHash {
  update(chunk: Uint8Array): void;
  /** Once, after the last chunk. */
  body(): Extract<RequestBody, { readonly kind: "none" | "hashed" }>;
}

/** Undefined where the body must be read as a whole: not multipart, or content-coded. */
export function uploadHashFor(
  mediaType: MediaType,
  codings: readonly string[],
  keepField?: string,
): UploadHash | undefined {
  if (mediaType.boundary === undefined || codingsOf(codings).length > 0) return undefined;
  const whole = createHash("sha256");
  const parts = createMultipartHash(mediaType, keepField);
  let length = 0;
  return {
    update(chunk) {
      length += chunk.length;
      whole.update(chunk);
      parts.update(chunk);
    },
    body() {
      if (length === 0) return { kind: "none" };
      if (parts.read().kind === "truncated") {
        throw new RequestBodyError(
          "request-unreadable",
          "The multipart body ends before its last boundary. Send it again.",
        );
      }
      return { kind: "hashed", digest: whole.digest("hex"), parts };
    },
  };
}
