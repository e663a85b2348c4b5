/** Content-Type, as far as a fingerprint needs it (RFC 9110 section 8.3.1). */

export interface MediaType {
  /** `type/subtype` in lower case, without parameters: a charset does not make another content of the same bytes. */
  readonly essence: string;
  /** How a body of this type is compared. */
  readonly kind: "json" | "form" | "multipart" | "other";
  /** The `boundary` parameter of a multipart type. */
  readonly boundary: string | undefined;
}

const parameter = /;[ \t]*([!#$%&'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";,]*))[ \t]*/y;

export function parseMediaType(header: string | undefined): MediaType {
  const text = header ?? "";
  const semicolon = text.indexOf(";");
  const essence = (semicolon < 0 ? text : text.slice(0, semicolon)).trim().toLowerCase();
  const kind = kindOf(essence);
  const boundary = kind === "multipart" && semicolon >= 0 ? parameterOf(text, semicolon, "boundary") : undefined;
  return { essence, kind, boundary };
}

function kindOf(essence: string): MediaType["kind"] {
  if (essence === "application/json" || /^[^/\s]+\/[^/\s]+\+json$/.test(essence)) return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  return essence.startsWith("multipart/") ? "multipart" : "other";
}

/** The first parameter of that name, in a field value whose parameters begin at `from`. */
export function parameterOf(text: string, from: number, name: string): string | undefined {
  parameter.lastIndex = from;
  for (;;) {
    const match = parameter.exec(text);
    if (match === null) return undefined;
    if (match[1]?.toLowerCase() === name) return match[2]?.replace(/\\(["\\])/g, "$1") ?? match[3];
  }
}
