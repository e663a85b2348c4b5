/** What a server publishes about its keys at `/.well-known/idempotency`. */
export interface ServerPolicy {
  /** The request header that carries the key. */
  readonly header: string;
  /** How long a key is remembered, from first sight. */
  readonly retentionMs: number | undefined;
  /** `strict`: a structured string, in quotes. `bare`: without. `lenient`: either. */
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
  const [, weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = parts.map((part) => Number(part ?? 0));
  return (((weeks * 7 + days) * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1_000;
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
  return {
    header: typeof published.header === "string" ? published.header : "Idempotency-Key",
    retentionMs: durationMs(published.retention?.duration),
    form: form === "strict" || form === "bare" ? form : "lenient",
    uuidV4: published.key?.format === "uuid-v4",
    operations: Array.isArray(published.operations) ? (published.operations as ServerPolicy["operations"]) : [],
  };
}
