/** The page as bytes in a module, sent with a policy that allows nothing inline and nothing from elsewhere. */
import { gunzipSync } from "node:zlib";
import type { Request, Response } from "express";
import { files } from "./page.generated.ts";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** `path` is below `/playground/`; the page itself is at the empty one. False: there is no such file. */
export function sendPageFile(request: Request, response: Response, path: string): boolean {
  const file = Object.hasOwn(files, path) ? files[path] : undefined;
  if (file === undefined) return false;
  const bytes = Buffer.from(file.base64, "base64");
  const takesGzip = request.acceptsEncodings("gzip") === "gzip";
  response.set({
    "Content-Type": file.type,
    "Content-Security-Policy": POLICY,
    // Names of built files hold their hash: they may be kept. The page itself is asked for anew.
    "Cache-Control": path === "" ? "no-cache" : "public, max-age=31536000, immutable",
    ETag: file.etag,
    Vary: "Accept-Encoding",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
  });
  if (request.headers["if-none-match"] === file.etag) {
    response.status(304).end();
    return true;
  }
  if (takesGzip) response.set("Content-Encoding", "gzip");
  response.send(takesGzip ? bytes : gunzipSync(bytes));
  return true;
}
