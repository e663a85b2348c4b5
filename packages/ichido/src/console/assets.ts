/** The page, as bytes in a module: nothing is read from disk, and a bundler takes it along. */
import { gunzipSync } from "node:zlib";
import { assets, type Asset } from "./assets.generated.ts";

export interface ServedAsset {
  readonly type: string;
  readonly etag: string;
  /** As it stands in `body`. */
  readonly encoding: "gzip" | undefined;
  readonly body: Uint8Array<ArrayBuffer>;
}

const served = new Map<string, ServedAsset>();

function made({ type, etag, gzip, base64 }: Asset, takesGzip: boolean): ServedAsset {
  const bytes = Buffer.from(base64, "base64");
  const isPlain = gzip && !takesGzip;
  return {
    type,
    etag,
    encoding: gzip && takesGzip ? "gzip" : undefined,
    body: new Uint8Array(isPlain ? gunzipSync(bytes) : bytes),
  };
}

/** The page itself is at the empty path. */
export function assetAt(path: string, acceptEncoding: string | undefined): ServedAsset | undefined {
  const asset = Object.hasOwn(assets, path) ? assets[path] : undefined;
  if (asset === undefined) return undefined;
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(acceptEncoding ?? "");
  const name = `${takesGzip ? "gzip" : "plain"} ${path}`;
  const found = served.get(name) ?? made(asset, takesGzip);
  served.set(name, found);
  return found;
}
