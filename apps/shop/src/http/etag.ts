/** Strong entity tags (RFC 9110 section 8.8.3): made from the bytes, so equal tags mean equal bytes. */
import { createHash } from "node:crypto";
import type { Request, Response } from "express";

const HASH_CHARACTERS = 27;

export function etagOf(body: string): string {
  return `"${createHash("sha256").update(body).digest("base64url").slice(0, HASH_CHARACTERS)}"`;
}

/**
 * Sends JSON with its tag, or 304. Not left to Express, whose `fresh` ignores If-None-Match beside a
 * `Cache-Control: no-cache`, which `fetch` adds by itself.
 */
export function sendTagged(request: Request, response: Response, value: unknown): void {
  const body = JSON.stringify(value);
  const etag = etagOf(body);
  response.set({ ETag: etag, "Cache-Control": "private, no-cache" });
  if (matches(request.headers["if-none-match"], etag)) {
    response.status(304).end();
    return;
  }
  response.type("json").send(body);
}

/** If-None-Match compares weakly (section 13.1.2): `W/` makes no difference. */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  const tags: readonly string[] = header.match(/"[^"]*"/g) ?? [];
  return tags.includes(etag);
}
