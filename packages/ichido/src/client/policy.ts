/** What a server publishes about its keys at `/.well-known/idempotency`. */
export interface ServerPolicy {
  /** The request header that carries the key. */
  readonly header: string;
  /** How long a key is remembered, from first sight. */
  readonly retentionMs: number | undefined;
  /** The key must be sent as a structured string, in quotes. */
  readonly quoted: boolean;
  /** The key must be sent without quotes. Where neither `quoted` nor `bare` is set, the server takes both forms. */
  readonly bare?: true | undefined;
  /** The server takes UUIDs of version 4 alone. */
  readonly uuidV4?: true | undefined;
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
  const { header, key, retention, operations } = (value ?? {}) as Published;
  return {
    header: typeof header === "string" ? header : "Idempotency-Key",
    retentionMs: durationMs(retention?.duration),
    quoted: key?.form === "strict",
    bare: key?.form === "bare" || undefined,
    uuidV4: key?.format === "uuid-v4" || undefined,
    operations: (Array.isArray(operations) ? (operations as ServerPolicy["operations"]) : []).map(
      ({ method, path, required }) => ({ method, path, required }),
    ),
  };
}
