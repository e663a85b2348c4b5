/** Content-Type, as far as a fingerprint needs it (RFC 9110 section 8.3.1). */

export interface MediaType {
  /**
   * `type/subtype` in lower case, without parameters: with another charset the same bytes are still the same content.
   */
  readonly essence: string;
  /** How a body of this type is compared. */
  readonly kind: "json" | "form" | "multipart" | "other";
  /** The `boundary` parameter of a multipart type. */
  readonly boundary: string | undefined;
}

const parameter = /;[ \t]*(?:([!#$%&'*+\-.^_`|~\w]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s";,]+))[ \t]*)?/y;

const mediaTypes = new Map<string, MediaType>();
const mediaTypesMax = 100;
const mediaTypeLengthMax = 100;

/** Cached: clients of one service send few types; a multipart type is another one every time, by its boundary. */
export function parseMediaType(header: string | undefined): MediaType {
  const text = header ?? "";
  const known = mediaTypes.get(text);
  if (known !== undefined) return known;
  const mediaType = read(text);
  if (mediaType.boundary === undefined && text.length <= mediaTypeLengthMax) {
    if (mediaTypes.size >= mediaTypesMax) mediaTypes.clear();
    mediaTypes.set(text, mediaType);
  }
  return mediaType;
}

function read(text: string): MediaType {
  const semicolon = text.indexOf(";");
  const essence = (semicolon < 0 ? text : text.slice(0, semicolon)).trim().toLowerCase();
  const kind = kindOf(essence);
  const boundary = kind === "multipart" ? parametersOf(text)?.get("boundary") : undefined;
  return { essence, kind, boundary };
}

function kindOf(essence: string): MediaType["kind"] {
  if (essence === "application/json" || /^[^/\s]+\/[^/\s]+\+json$/.test(essence)) return "json";
  if (essence === "application/x-www-form-urlencoded") return "form";
  return essence.startsWith("multipart/") ? "multipart" : "other";
}

/**
 * The parameters of a field value such as `form-data; name="a"`, by name in lower case. Undefined when they are
 * malformed or one is repeated: parsers read these differently.
 */
export function parametersOf(text: string): ReadonlyMap<string, string> | undefined {
  const parameters = new Map<string, string>();
  const semicolon = text.indexOf(";");
  let position = semicolon < 0 ? text.length : semicolon;
  while (position < text.length) {
    parameter.lastIndex = position;
    const match = parameter.exec(text);
    if (match === null) return undefined;
    position = parameter.lastIndex;
    const [, name, quoted, token] = match;
    if (name === undefined) continue;
    if (parameters.has(name.toLowerCase())) return undefined;
    parameters.set(name.toLowerCase(), quoted?.replace(/\\(["\\])/g, "$1") ?? (token as string));
  }
  return parameters;
}
