/** What a server publishes about its keys at `/.well-known/idempotency`. */
export interface ServerPolicy {
  /** The request header that carries the key. */
  readonly header: string;
  /** How long a key is remembered, from first sight. */
  readonly retentionMs: number | undefined;
  /** The key must be sent as a structured string, in quotes. */
  readonly quoted: boolean;
  /** How the key is written; `lenient` takes it with or without quotes. */
  readonly form: "strict" | "lenient" | "bare";
  /** The server takes UUIDs of version 4 alone. */
  readonly uuidV4: boolean;
  readonly operations: readonly { readonly method: string; readonly path: string; readonly required: boolean }[];
}

/** ISO 8601 without years and months, whose length varies. */
export function durationMs(text: unknown): number | undefined {
  const parts = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/.exec(
    typeof text === "string" ? text : "",
  );
  if (parts === null || text === "P" || text === "PT") return undefined;
  const [, weeks, days, hours, minutes, seconds] = parts.map((part) => Number(part ?? 0));
  return (
    ((((weeks ?? 0) * 7 + (days ?? 0)) * 24 + (hours ?? 0)) * 60 + (minutes ?? 0)) * 60_000 + (seconds ?? 0) * 1_000
  );
}

interface Published {
  readonly header?: unknown;
  readonly key?: { readonly form?: unknown; readonly format?: unknown };
  readonly retention?: { readonly duration?: unknown };
  readonly operations?: unknown;
}

export function readPolicy(value: unknown): ServerPolicy {
  const published = (value ?? {}) as Published;
  const form = published.key?.form;
  const operations = Array.isArray(published.operations) ? (published.operations as Record<string, unknown>[]) : [];
  return {
    header: typeof published.header === "string" ? published.header : "Idempotency-Key",
    retentionMs: durationMs(published.retention?.duration),
    quoted: form === "strict",
    form: form === "strict" || form === "bare" ? form : "lenient",
    uuidV4: published.key?.format === "uuid-v4",
    operations: operations.map(({ method, path, required }) => ({
      method: String(method),
      path: String(path),
      required: required === true,
    })),
  };
}
