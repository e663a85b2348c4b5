/** Answers with the header lines that all of them carry. */
import { assetAt } from "./assets.ts";
import type { HeaderOf } from "./origin.ts";
import type { Problem } from "./problem.ts";

const guarded = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "x-frame-options": "DENY",
} as const;

const nothing = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
/** Nothing inline, nothing from elsewhere. */
const own = `${nothing}; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'`;

function headers(contentType: string, policy = nothing, caching = "no-store"): Headers {
  return new Headers({
    ...guarded,
    "content-type": contentType,
    "content-security-policy": policy,
    "cache-control": caching,
    ...(caching === "no-store" && { pragma: "no-cache" }),
  });
}

export function jsonResponse(value: object, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: headers("application/json; charset=utf-8") });
}

/** What a route made itself, with the lines that all answers have. */
export function guardedResponse(response: Response): Response {
  const type = response.headers.get("content-type") ?? "application/octet-stream";
  const lines = headers(type);
  if (type.startsWith("text/event-stream")) {
    // Whoever compresses or buffers on the way would keep a stream back until it ends.
    lines.set("cache-control", "no-store, no-transform");
    lines.set("x-accel-buffering", "no");
  }
  return new Response(response.body, { status: response.status, headers: lines });
}

export function problemResponse({ status, answer }: Problem): Response {
  return jsonResponse(answer, status);
}

/** Names of built files hold their hash: they may be kept. The page itself is asked for anew. */
export function assetResponse(path: string, header: HeaderOf): Response | undefined {
  const asset = assetAt(path, header("accept-encoding"));
  if (asset === undefined) return undefined;
  const isPage = path === "";
  const lines = headers(asset.type, own, isPage ? "no-cache, private" : "private, max-age=31536000, immutable");
  lines.set("etag", asset.etag);
  lines.set("vary", "accept-encoding");
  if (header("if-none-match") === asset.etag) return new Response(null, { status: 304, headers: lines });
  if (asset.encoding !== undefined) lines.set("content-encoding", asset.encoding);
  return new Response(asset.body, { headers: lines });
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** For people who open an address that does not let them in. Without script and style: the policy allows neither. */
export function deniedPage({ status, message }: Problem): Response {
  const text =
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>ichido console</title></head>` +
    `<body><h1>ichido console</h1><p>${escaped(message)}</p></body></html>\n`;
  return new Response(text, { status, headers: headers("text/html; charset=utf-8") });
}

export function redirect(location: string): Response {
  const lines = headers("text/plain; charset=utf-8");
  lines.set("location", location);
  return new Response("", { status: 308, headers: lines });
}
