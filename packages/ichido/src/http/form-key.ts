/** A key that comes in a hidden field of a form: browsers cannot add a header to a form that they submit themselves. */
import { randomUUID } from "node:crypto";
import { parseMediaType } from "../core/request/media-type.ts";
import type { NeutralRequest, RequestBody } from "../core/contract/message.ts";
import type { Profile } from "../core/contract/profiles.ts";

/** What `IdempotencyField` of `ichido/react` renders. */
export const keyFieldDefault = "idempotencyKey";

function valuesOf(body: RequestBody, kind: "form" | "multipart", field: string): readonly string[] {
  if (body.kind === "hashed" && body.parts.read().kind === "parts") {
    return body.parts.kept.map((content) => content.toString("utf8"));
  }
  if (body.kind !== "bytes" || kind !== "form") return [];
  return new URLSearchParams(Buffer.from(body.bytes).toString("utf8")).getAll(field);
}

/** The value as a client would have sent it in the header. */
function headerLine(value: string, { keyForm }: Profile): string {
  return keyForm === "bare" ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

/**
 * The same request with the key from its form, where its header has none. This reads the body first, which the
 * comparison would read anyway.
 */
export async function withKeyField<Native>(
  request: NeutralRequest<Native>,
  { field, profile }: { readonly field: string; readonly profile: Profile },
): Promise<NeutralRequest<Native>> {
  const header = profile.header.toLowerCase();
  const { kind } = parseMediaType(request.headerLines("content-type")[0]);
  if ((kind !== "form" && kind !== "multipart") || request.headerLines(header).length > 0) return request;
  const reading = request.body();
  let values: readonly string[];
  try {
    values = valuesOf(await reading, kind, field);
  } catch {
    // The error of the body becomes the answer, but only after the check of the key. This random key passes the check
    // and claims nothing.
    values = [randomUUID()];
  }
  const lines = values.map((value) => headerLine(value, profile));
  return {
    ...request,
    headerLines: (name) => (name === header ? lines : request.headerLines(name)),
    body: () => reading,
  };
}
