/**
 * Multipart by its parts (RFC 2046 section 5.1, RFC 7578): clients make a new boundary for every attempt, so the bytes
 * differ where the content does not. Disposition, name, file name, media type, transfer coding and content of a part
 * count. Preamble, epilogue and all other headers do not count; but a boundary inside them makes the body malformed,
 * since parsers differ in whether it is a delimiter. Fields of a form are ordered by name, fields of the same name as
 * they were sent, like the pairs of any other form. Parts of other multipart types count in the order sent.
 *
 * The body arrives in chunks of any size and is not kept; only the headers of every part and a hash of its content are.
 */
import type { MultipartHash, MultipartReading } from "../contract/message.ts";
import { createHash } from "node:crypto";
import { isFieldNamed } from "./form.ts";
import { lengthPrefixed } from "./sha256.ts";
import { type MediaType, parametersOf, parseMediaType } from "./media-type.ts";
import { createDelimiterScan } from "./multipart-delimiter.ts";

/** With more parts, or longer headers in one, a body is compared byte by byte. */
export const multipartPartsMax = 1000;
export const partHeaderBytesMax = 16 * 1024;
/** RFC 2046 allows 70; some clients send more. */
const boundaryLengthMax = 200;
/** The most bytes of a field that is kept; the rest of it is dropped. */
const keptBytesMax = 1024;
/** How much of a whole body is looked at in one go. */
const pieceBytes = 64 * 1024;
/**
 * Smaller chunks are gathered to this size before they are scanned. The rest of the last scan (headers that have not
 * ended yet) is never much larger. So a byte is scanned about twice, not once for every later chunk.
 */
const gatheredBytes = partHeaderBytesMax;

const lineBreak = "\r\n";

interface Part {
  readonly name: string | undefined;
  readonly spell: (contentHash: string) => string;
}

interface SpeltPart {
  readonly name: string | undefined;
  readonly text: string;
}

type Hash = ReturnType<typeof createHash>;
type Phase =
  | { readonly in: "preamble" }
  | { readonly in: "headers" }
  | { readonly in: "content"; readonly part: Part; readonly hash: Hash }
  | { readonly in: "epilogue" }
  | { readonly in: "malformed" };

const epilogue: Phase = { in: "epilogue" };
const malformed: Phase = { in: "malformed" };

export function createMultipartHash(
  { essence, boundary = "" }: Pick<MediaType, "essence" | "boundary">,
  keepField?: string,
): MultipartHash {
  const isBoundary = boundary !== "" && boundary.length <= boundaryLengthMax;
  const scan = createDelimiterScan(boundary);
  const lookAlike = Buffer.from(`${lineBreak}--${boundary}`, "latin1");
  const parts: SpeltPart[] = [];
  const keepName = keepField === undefined ? undefined : Buffer.from(keepField).toString("latin1");
  const kept: Buffer[] = [];
  let phase: Phase = isBoundary ? { in: "preamble" } : malformed;
  // A delimiter at the very beginning has no line break before it; this one replaces it.
  let rest: Buffer = Buffer.from(lineBreak);
  let isEnded = false;
  /** Made for the first chunk that is small. */
  let gathered: Buffer | undefined;
  let gatheredLength = 0;

  function finishPart(): void {
    if (phase.in !== "content") return;
    parts.push({ name: phase.part.name, text: phase.part.spell(phase.hash.digest("hex")) });
  }

  function passContent({ part, hash }: Extract<Phase, { in: "content" }>, content: Buffer): void {
    hash.update(content);
    if (keepName === undefined || part.name !== keepName) return;
    const before = kept.pop() ?? Buffer.alloc(0);
    kept.push(Buffer.concat([before, content.subarray(0, keptBytesMax - before.length)]));
  }

  /** Returns whether there may be more to do with what is left. */
  function passDelimiter(): boolean {
    const found = scan(rest, isEnded);
    // Bytes before this can no longer belong to a delimiter.
    const settled = found.kind === "none" ? rest.length : found.start;
    if (phase.in === "content") passContent(phase, rest.subarray(0, settled));
    else if (rest.subarray(0, settled).includes(lookAlike)) {
      phase = malformed;
      return false;
    }
    if (found.kind !== "delimiter") {
      rest = rest.subarray(settled);
      if (found.kind === "endless") phase = malformed;
      return false;
    }
    // The line break after the last delimiter may also be the one before a boundary in the epilogue.
    rest = rest.subarray(found.isLast ? found.end - lineBreak.length : found.end);
    finishPart();
    if (found.isLast) phase = epilogue;
    else phase = parts.length === multipartPartsMax ? malformed : { in: "headers" };
    return true;
  }

  function passHeaders(): boolean {
    const isBare = rest.length >= 2 && rest.toString("latin1", 0, 2) === lineBreak;
    const end = isBare ? 0 : rest.indexOf("\r\n\r\n") + 2;
    const found = scan(rest, isEnded);
    if (end === 1) {
      // The part ends before its headers do, or they are endless.
      if (found.kind === "delimiter" || found.kind === "endless" || rest.length > partHeaderBytesMax + 2)
        phase = malformed;
      return false;
    }
    if (end > partHeaderBytesMax) {
      phase = malformed;
      return false;
    }
    // The line break that ends the headers may also begin a delimiter, and then there is no content.
    if (found.kind !== "none" && found.start <= end) {
      if (found.kind !== "undecided") phase = malformed;
      return false;
    }
    const part = readHeaders(rest.toString("latin1", 0, end));
    phase = part === undefined ? malformed : { in: "content", part, hash: createHash("sha256") };
    if (part !== undefined && keepName !== undefined && part.name === keepName) kept.push(Buffer.alloc(0));
    rest = rest.subarray(end + 2);
    return true;
  }

  function passEpilogue(): boolean {
    if (rest.includes(lookAlike)) phase = malformed;
    rest = rest.subarray(Math.max(0, rest.length - lookAlike.length + 1));
    return false;
  }

  const isOver = (): boolean => phase.in === "malformed";

  function look(bytes: Uint8Array): void {
    rest = Buffer.concat([rest, bytes]);
    advance();
  }

  function lookAtGathered(): void {
    const length = gatheredLength;
    gatheredLength = 0;
    if (length > 0 && !isOver()) look((gathered as Buffer).subarray(0, length));
  }

  function gather(chunk: Uint8Array): void {
    if (gatheredLength + chunk.length > gatheredBytes) lookAtGathered();
    gathered ??= Buffer.allocUnsafe(gatheredBytes);
    gathered.set(chunk, gatheredLength);
    gatheredLength += chunk.length;
  }

  function advance(): void {
    let goesOn = true;
    while (goesOn && !isOver()) {
      if (phase.in === "headers") goesOn = passHeaders();
      else goesOn = phase.in === "epilogue" ? passEpilogue() : passDelimiter();
    }
  }

  return {
    get kept() {
      lookAtGathered();
      return kept;
    },
    update(chunk) {
      if (isOver()) return;
      if (chunk.length < gatheredBytes) return gather(chunk);
      lookAtGathered();
      if (!isOver()) look(chunk);
    },
    read(fields) {
      if (!isEnded) {
        lookAtGathered();
        isEnded = true;
        advance();
      }
      if (phase.in === "headers" || phase.in === "content") return { kind: "truncated" };
      if (phase.in !== "epilogue") return { kind: "malformed" };
      return { kind: "parts", text: spellParts(parts, { isForm: essence === "multipart/form-data", fields }) };
    },
  };
}

/** A body that is there as a whole. */
export function readMultipart(
  body: Uint8Array,
  mediaType: Pick<MediaType, "essence" | "boundary">,
  fields?: readonly string[],
): MultipartReading {
  const hash = createMultipartHash(mediaType);
  for (let start = 0; start < body.length; start += pieceBytes) hash.update(body.subarray(start, start + pieceBytes));
  return hash.read(fields);
}

function spellParts(
  parts: readonly SpeltPart[],
  { isForm, fields }: { readonly isForm: boolean; readonly fields: readonly string[] | undefined },
): string {
  const wanted = fields?.map((field) => Buffer.from(field).toString("latin1"));
  const counting = parts.filter(
    ({ name }) => wanted === undefined || (name !== undefined && isFieldNamed(name, wanted)),
  );
  if (isForm) counting.sort((one, other) => compareNames(one.name, other.name));
  return lengthPrefixed(counting.map(({ text }) => text));
}

function compareNames(one: string | undefined, other: string | undefined): number {
  if (one === other) return 0;
  if (one === undefined || other === undefined) return one === undefined ? -1 : 1;
  return one < other ? -1 : 1;
}

/** Undefined when the headers of the part are malformed. */
function readHeaders(text: string): Part | undefined {
  const headers = headersOf(text);
  const disposition = headers?.get("content-disposition") ?? "";
  const parameters = parametersOf(disposition);
  if (headers === undefined || parameters === undefined) return undefined;
  const name = parameters.get("name");
  // Some parsers decode it, so that the same bytes are other content. Parts without one keep their spelling.
  const coding = headers.get("content-transfer-encoding");
  return {
    name,
    spell: (contentHash) =>
      lengthPrefixed([
        parseMediaType(disposition).essence,
        name,
        parameters.get("filename"),
        parameters.get("filename*"),
        parseMediaType(headers.get("content-type")).essence,
        contentHash,
        ...(coding === undefined ? [] : [coding.toLowerCase()]),
      ]),
  };
}

/** RFC 9110 section 5.6.2. */
const tokenForm = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** RFC 9110 section 5.5: no controls, which a lone line feed is too. */
// oxlint-disable-next-line no-control-regex -- controls are exactly what is excluded
const valueForm = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * Undefined when a line is not a header (a folded line is none either), or when a header is repeated: parsers read
 * these differently.
 */
function headersOf(text: string): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>();
  for (const line of text.split(lineBreak)) {
    if (line === "") continue;
    const colon = line.indexOf(":");
    const name = line.slice(0, Math.max(0, colon)).toLowerCase();
    const value = line.slice(colon + 1);
    if (!tokenForm.test(name) || !valueForm.test(value) || headers.has(name)) return undefined;
    headers.set(name, value.trim());
  }
  return headers;
}
