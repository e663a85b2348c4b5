/** One run against one server: sends requests by the description, and checks their answers. */
import { randomUUID } from "node:crypto";
import type { Profile } from "../core/contract/profiles.ts";
import { profileOf, type Description, type HeaderMap, type RequestPart } from "./description.ts";
import { exchange, rawExchange, sendRaw, type WireReply, type WireRequest } from "./wire.ts";

export interface Ask extends Omit<RequestPart, "content"> {
  /** The header's value or values; null: no header. */
  readonly key: string | readonly string[] | null;
  /** Headers of the caller; default: the first one. */
  readonly as?: HeaderMap | undefined;
  /** In place of `body`: text, or bytes. */
  readonly content?: string | Uint8Array;
  /** The address of a replica. */
  readonly origin?: string;
  /** Sent byte by byte, since a library would refuse to send it. */
  readonly raw?: boolean;
}

export interface Reply extends WireReply {
  readonly request: WireRequest;
  /** The request, so that a later one can repeat it. */
  readonly ask: Ask;
}

/** A rule that the server breaks. */
export class Nonconformity extends Error {
  override readonly name: string = "Nonconformity";
  readonly request: string;
  readonly expected: string;
  readonly seen: string;

  constructor(expected: string, seen: string, request: string) {
    super(`expected ${expected}, seen ${seen}`);
    this.expected = expected;
    this.seen = seen;
    this.request = request;
  }
}

/** The server does not even answer a plain request as described, so that no other case would show anything. */
export class NotAsDescribed extends Nonconformity {
  override readonly name: string = "NotAsDescribed";
}

export class LimitReached extends Error {
  override readonly name: string = "LimitReached";
}

const bodyTextMax = 300;
const secretHeaders = /^(authorization|proxy-authorization|cookie|.*(token|secret|api-?key).*)$/i;

function shortText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.subarray(0, bodyTextMax)).toString("utf8");
  // oxlint-disable-next-line no-control-regex -- binary content must not reach a terminal
  const printable = text.replace(/[\u0000-\u0008\u000b-\u001f\u007f\ufffd]/g, ".");
  return bytes.length > bodyTextMax ? `${printable}… (${bytes.length} bytes)` : printable;
}

export function showRequest({ method, url, headers, body }: WireRequest): string {
  const lines = headers.map(
    ([name, value]) => `${name}: ${secretHeaders.test(name) ? "(not shown)" : value.slice(0, 300)}`,
  );
  return [`${method} ${url.pathname}${url.search}`, ...lines, ...(body.length > 0 ? ["", shortText(body)] : [])].join(
    "\n",
  );
}

const shownHeaders = ["content-type", "location", "retry-after", "idempotency-replayed", "idempotent-replayed"];

export function showReply(reply: WireReply): string {
  const lines = shownHeaders.flatMap((name) => reply.lines(name).map((value) => `${name}: ${value}`));
  return [`status ${reply.status}`, ...lines, ...(reply.body.length > 0 ? [shortText(reply.body)] : [])].join("\n");
}

/** RFC 6901. */
export function atPointer(value: unknown, pointer: string): unknown {
  if (pointer === "") return value;
  let at = value;
  for (const part of pointer.split("/").slice(1)) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof at !== "object" || at === null) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

export interface SessionLimits {
  readonly requestsMax: number;
  readonly totalMs: number;
}

const placeholder = "{{uuid}}";

export class Session {
  readonly profile: Profile;
  /** Whether the description has placeholders for values that must not be used twice. */
  readonly hasUnique: boolean;
  readonly #given: string;
  #description: Description;
  readonly #limits: SessionLimits;
  readonly #untilMs: number;
  #requests = 0;

  constructor(description: Description, limits: SessionLimits) {
    this.#given = JSON.stringify(description);
    this.hasUnique = this.#given.includes(placeholder);
    this.#description = this.#filled();
    this.profile = profileOf(description);
    this.#limits = limits;
    this.#untilMs = performance.now() + limits.totalMs;
  }

  /** The description with values in place of its placeholders: the same values until `renew`. */
  get description(): Description {
    return this.#description;
  }

  #filled(): Description {
    return JSON.parse(this.#given.replaceAll(placeholder, randomUUID())) as Description;
  }

  /** For another effect: new values. */
  renew(): void {
    if (this.hasUnique) this.#description = this.#filled();
  }

  /** New values for the requests of `body`; then the former values again. */
  async renewed<Value>(body: () => Promise<Value>): Promise<Value> {
    const former = this.#description;
    this.renew();
    try {
      return await body();
    } finally {
      this.#description = former;
    }
  }

  /** Other content for the operation, as far as the description has one. */
  get other(): Pick<Ask, "body" | "content"> {
    const { otherBody, otherContent } = this.#description;
    return otherContent === undefined ? { body: otherBody } : { content: otherContent };
  }

  get requests(): number {
    return this.#requests;
  }

  #spend(): void {
    if (this.#requests >= this.#limits.requestsMax) {
      throw new LimitReached(`the limit of ${this.#limits.requestsMax} requests was reached`);
    }
    if (performance.now() > this.#untilMs)
      throw new LimitReached(`the limit of ${this.#limits.totalMs} ms was reached`);
    this.#requests += 1;
  }

  /** The header text of a key that was never used, in the form that the profile prefers. */
  freshKey(): string {
    const key = randomUUID();
    return this.profile.keyForm === "bare" ? key : `"${key}"`;
  }

  #contentOf({ body }: Ask): string {
    const { operation } = this.description;
    if (body === undefined && operation.content !== undefined) return operation.content;
    return JSON.stringify(body ?? operation.body) ?? "";
  }

  request(ask: Ask): WireRequest {
    const { operation, principals, url } = this.description;
    const content = Buffer.from((ask.content ?? this.#contentOf(ask)) as string);
    const given: HeaderMap = { ...(ask.as ?? principals?.[0]), ...operation.headers, ...ask.headers };
    const hasType = Object.keys(given).some((name) => name.toLowerCase() === "content-type");
    const keys = ask.key === null ? [] : typeof ask.key === "string" ? [ask.key] : ask.key;
    return {
      method: ask.method ?? operation.method ?? "POST",
      url: new URL(ask.path ?? operation.path, ask.origin ?? url),
      headers: [
        ...Object.entries(given),
        ...(content.length > 0 && !hasType ? [["Content-Type", "application/json"] as const] : []),
        ...keys.map((key) => [this.profile.header, key] as const),
      ],
      body: content,
    };
  }

  async ask(ask: Ask): Promise<Reply> {
    this.#spend();
    const request = this.request(ask);
    let reply: WireReply;
    try {
      reply = await (ask.raw === true ? rawExchange(request) : exchange(request));
    } catch (error) {
      throw new Nonconformity("an answer", (error as Error).message, showRequest(request));
    }
    return { ...reply, request, ask };
  }

  /** Sends everything, then goes away without waiting for the answer. */
  async askAndLeave(ask: Ask, afterMs: number): Promise<void> {
    this.#spend();
    const socket = await sendRaw(this.request(ask));
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    socket.destroy();
  }

  /** Undefined where no counter was described. */
  async effects(): Promise<number | undefined> {
    const { effects, url } = this.description;
    if (effects === undefined) return undefined;
    this.#spend();
    const headers = Object.entries(effects.headers ?? {});
    const reply = await exchange({ method: "GET", url: new URL(effects.url, url), headers, body: Buffer.alloc(0) });
    const count = Number(atPointer(reply.json(), effects.pointer ?? ""));
    if (reply.status === 200 && Number.isFinite(count)) return count;
    throw new Error(`the counter at ${effects.url} gave no number at ${JSON.stringify(effects.pointer ?? "")}`);
  }

  /** Runs `body` and expects this many effects of it. */
  async counting(expected: number, body: () => Promise<void>, last?: () => Reply | undefined): Promise<void> {
    const before = await this.effects();
    await body();
    const after = await this.effects();
    if (before === undefined || after === undefined || after - before === expected) return;
    const request = last?.();
    throw new Nonconformity(
      `${expected} effect${expected === 1 ? "" : "s"}`,
      `${after - before} at the counter`,
      request === undefined ? "the requests of this case" : showRequest(request.request),
    );
  }

  fail(expected: string, reply: Reply, seen = showReply(reply)): never {
    throw new Nonconformity(expected, seen, showRequest(reply.request));
  }

  #expectNoMarker(reply: Reply): void {
    for (const name of new Set(["idempotency-replayed", "idempotent-replayed", this.profile.marker.name])) {
      if (reply.header(name) !== undefined) this.fail(`no ${name} on this answer`, reply);
    }
  }

  /** The status of the operation's first answer. */
  statusOf(part: Pick<RequestPart, "status">): number {
    return part.status ?? this.description.operation.status ?? 201;
  }

  executed(reply: Reply, status = this.statusOf(reply.ask)): Reply {
    if (reply.status !== status) {
      const seen = showReply(reply);
      throw new NotAsDescribed(`the operation's own ${status}${this.#hint(reply)}`, seen, showRequest(reply.request));
    }
    this.#expectNoMarker(reply);
    return reply;
  }

  /** What may be missing in the description, where an answer is not the operation's own. */
  #hint({ status }: Reply): string {
    if (status < 300) return `; if ${status} is its own, the description says so (status, --status)`;
    const isRefusal = [400, 409, 422].includes(status);
    return isRefusal && !this.hasUnique ? `; members that must be unique are written with ${placeholder}` : "";
  }

  replayed(reply: Reply, first: Reply): Reply {
    const status = first.status === 201 ? this.profile.replayCreatedAs : first.status;
    if (reply.status !== status) this.fail(`a replay with status ${status}`, reply);
    const { name, value } = this.profile.marker;
    if (reply.header(name)?.toLowerCase() !== value) this.fail(`the marker ${name}: ${value}`, reply);
    if (!reply.body.equals(first.body)) this.fail(`the first body, byte for byte: ${shortText(first.body)}`, reply);
    for (const header of ["location", "etag", "last-modified", "link", "content-type"]) {
      const [seen, expected] = [reply.lines(header), first.lines(header)].map((lines) => lines.join("\n"));
      if (seen !== expected) this.fail(`${header}: ${expected || "(none)"}`, reply, `${header}: ${seen || "(none)"}`);
    }
    return reply;
  }

  /** An answer of the layer itself. */
  refused(reply: Reply, status: number, what: string): Reply {
    if (reply.status !== status) this.fail(`${status}, ${what}`, reply);
    this.#expectNoMarker(reply);
    return reply;
  }

  refusedKey(reply: Reply): Reply {
    return this.refused(reply, 400, "the key is refused");
  }

  mismatch(reply: Reply): Reply {
    return this.refused(reply, this.profile.mismatchStatus, "the key was used with other content");
  }

  isInFlight(reply: Reply): boolean {
    return (
      reply.status === (this.profile.inFlight === "accepted" ? 202 : 409) && reply.header("retry-after") !== undefined
    );
  }
}
