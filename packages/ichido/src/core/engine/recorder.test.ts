import { describe, expect, it } from "vitest";
import { answerOf } from "./answer.ts";
import { profiles } from "../contract/profiles.ts";
import {
  headerOf,
  interimOf,
  isFinalStatus,
  isKeptHeader,
  isSendableHeader,
  keepsByDefault,
  neverKeptHeaders,
  recordedOf,
  replayOf,
  tombstoneOf,
  verdictOn,
} from "./recorder.ts";

describe("what of an answer is kept", () => {
  it("R-02 an answer made by code says nothing in the layer's place", () => {
    const headers = {
      "Idempotency-Replayed": "true",
      "idempotent-replayed": "true",
      "Idempotency-Stored": "no",
      "X-A": "1",
    };
    expect(answerOf({ status: 201, headers }).headers).toEqual([["x-a", "1"]]);
  });

  it.each([
    "date",
    "connection",
    "keep-alive",
    "transfer-encoding",
    "content-length",
    "age",
    "set-cookie",
    "www-authenticate",
    "x-request-id",
    "traceparent",
    "server-timing",
    "ratelimit-remaining",
    "ratelimit",
    "x-ratelimit-limit",
    "access-control-allow-origin",
    "x-b3-traceid",
    "idempotency-replayed",
  ])("R-02 R-03 A23 %s belongs to one exchange and is not kept", (name) => {
    expect(isKeptHeader(name)).toBe(false);
  });

  it.each([
    "location",
    "etag",
    "last-modified",
    "link",
    "content-type",
    "content-encoding",
    "cache-control",
    "retry-after",
    "x-own",
  ])("R-01 A22 %s is kept", (name) => {
    expect(isKeptHeader(name)).toBe(true);
  });

  it("S7 lines that could not be sent again are not stored", () => {
    expect(isSendableHeader(["x-a", "plain value"])).toBe(true);
    for (const value of ["a\r\nset-cookie: b", "a\0", "snow ☃"]) expect(isSendableHeader(["x-a", value])).toBe(false);
    expect(isSendableHeader(["bad name", "v"])).toBe(false);
    const { headers } = recordedOf({
      status: 200,
      headers: [
        ["x-a", "1\n2"],
        ["x-b", "2"],
      ],
      body: new Uint8Array(0),
    });
    expect(headers).toEqual([["x-b", "2"]]);
  });

  it("S7 a tampered row is filtered again at replay", () => {
    const stored = {
      kind: "full",
      status: 200,
      headers: [["x-a", "1\r\n2"]] as [string, string][],
      body: new Uint8Array(0),
    } as const;
    expect(replayOf(stored, profiles.ietf).headers).toEqual([
      ["cache-control", "no-store"],
      ["idempotency-replayed", "true"],
    ]);
  });

  it("a tombstone remembers where to look, and no bytes", () => {
    const stone = tombstoneOf({
      status: 201,
      headers: [
        ["location", "/x"],
        ["etag", "1"],
        ["content-type", "text/csv"],
      ],
    });
    expect(stone).toEqual({
      kind: "tombstone",
      status: 201,
      headers: [
        ["location", "/x"],
        ["content-type", "text/csv"],
      ],
      body: new Uint8Array(0),
    });
  });

  it("a server error leaves the outcome open unless it is to be kept", () => {
    const never = (): boolean => false;
    const of = (status: number) => ({ status, headers: [] });
    expect(verdictOn(of(500), never)).toBe("open");
    expect(verdictOn(of(404), never)).toBe("release");
    expect(verdictOn(of(500), () => true)).toBe("keep");
  });

  it.each(["www-authenticate", "payment-required"])(
    "a 402 with %s asks for a payment and gives the key back",
    (name) => {
      expect(keepsByDefault(profiles.ietf)({ status: 402, headers: [[name, "x402"]] })).toBe(false);
      expect(keepsByDefault(profiles.ietf)({ status: 402, headers: [["x-own", "1"]] })).toBe(true);
      expect(keepsByDefault(profiles.ietf)({ status: 404, headers: [[name, "x402"]] })).toBe(true);
    },
  );

  it("a 402 whose JSON body is a challenge of x402 gives the key back; keep may say otherwise", () => {
    const of = (body: string) => ({ status: 402, headers: [], body: Buffer.from(body) });
    const challenge = of('{"x402Version":1,"accepts":[],"error":"X-PAYMENT header is required"}');
    expect(keepsByDefault(profiles.ietf)(challenge)).toBe(false);
    expect(verdictOn(challenge, keepsByDefault(profiles.ietf))).toBe("release");
    expect(verdictOn(challenge, () => true)).toBe("keep");
    for (const other of [
      '{"error":"card declined"}',
      '{"x402Version":1}',
      '"x402Version accepts"',
      "null",
      "no JSON",
      "",
    ]) {
      expect(keepsByDefault(profiles.ietf)(of(other)), other).toBe(true);
    }
  });

  it("finds a header by name", () => {
    expect(headerOf([["a", "1"]], "a")).toBe("1");
    expect(headerOf([["a", "1"]], "b")).toBeUndefined();
  });
});

describe("answers made by code", () => {
  const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

  it("serialises JSON, text, bytes and nothing, once", () => {
    expect(text(answerOf({ status: 200, body: { a: 1 } }).body)).toBe('{"a":1}');
    expect(answerOf({ status: 200, body: "hi" }).headers).toEqual([["content-type", "text/plain; charset=utf-8"]]);
    expect(answerOf({ status: 200, body: new Uint8Array([0, 255]) }).body).toEqual(new Uint8Array([0, 255]));
    expect(answerOf({ status: 204 })).toEqual({ status: 204, headers: [], body: new Uint8Array(0) });
  });

  it("keeps a content type that was given, and repeated lines", () => {
    const { headers } = answerOf({
      status: 200,
      headers: { "Content-Type": "application/xml", Link: ["a", "b"] },
      body: "<a/>",
    });
    expect(headers).toEqual([
      ["content-type", "application/xml"],
      ["link", "a"],
      ["link", "b"],
    ]);
  });

  it.each([99, 101, 600, 200.5, Number.NaN])("refuses status %d", (status) => {
    expect(() => answerOf({ status })).toThrow("200 to 599");
  });
});

describe("lines of an answer", () => {
  it("R-02 R-03 those of one exchange, one moment, one session or one request are not kept, and no others", () => {
    const text = [...neverKeptHeaders].join(" ");
    expect(text).toBe(
      "connection keep-alive proxy-connection te trailer transfer-encoding upgrade content-length date age server-timing " +
        "timing-allow-origin set-cookie set-cookie2 authorization www-authenticate proxy-authenticate proxy-authorization " +
        "authentication-info proxy-authentication-info clear-site-data request-id x-request-id correlation-id " +
        "x-correlation-id x-amzn-requestid x-amzn-trace-id x-cloud-trace-context traceparent tracestate traceresponse b3 " +
        "x-response-time x-runtime idempotency-replayed idempotent-replayed idempotency-stored",
    );
    const families = ["access-control-x", "ratelimit", "ratelimit-x", "x-ratelimit-x", "x-rate-limit-x", "x-b3-x"];
    expect(families.filter(isKeptHeader)).toEqual([]);
    expect(
      ["access-control", "my-ratelimit", "x-ratelimit", "x-rate-limit", "x-b3", "x-my-b3-x"].every(isKeptHeader),
    ).toBe(true);
  });

  it("S7 names are tokens, values have no controls; anything else cannot be sent", () => {
    const sendable = (name: string, value = "v"): boolean => isSendableHeader([name, value]);
    expect(["x", "!#$%&'*+-.^_`|~09az"].every((name) => sendable(name))).toBe(true);
    expect(["", "a b", " a", "a ", "A", "a:", "é"].some((name) => sendable(name))).toBe(false);
    expect(["", "\t ~", "\u0080ÿ"].every((value) => sendable("x", value))).toBe(true);
    expect(["\n", "a\n", "\na", "\u007f", "\u0000", "Ā"].some((value) => sendable("x", value))).toBe(false);
  });

  it("a replay is marked, and not to be cached unless the handler said how", () => {
    const replayed = (headers: readonly (readonly [string, string])[], profile = profiles.ietf) =>
      replayOf({ kind: "full", status: 200, headers, body: new Uint8Array(1) }, profile);
    expect(replayed([["cache-control", "max-age=5"]]).headers).toEqual([
      ["cache-control", "max-age=5"],
      ["idempotency-replayed", "true"],
    ]);
    expect(replayed([["set-cookie", "a=b"]], profiles.stripe)).toEqual({
      status: 200,
      headers: [
        ["cache-control", "no-store"],
        ["idempotent-replayed", "true"],
      ],
      body: new Uint8Array(1),
    });
    const created = { kind: "full", status: 201, headers: [], body: new Uint8Array(0) } as const;
    expect([replayOf(created, profiles["adr-007"]).status, replayOf(created, profiles.ietf).status]).toEqual([
      200, 201,
    ]);
  });

  it("an interim answer has its lines but for those of one exchange, and no marker", () => {
    const stored = {
      kind: "full",
      status: 202,
      headers: [
        ["date", "now"],
        ["x-a", "1"],
      ],
      body: new Uint8Array(2),
    } as const;
    expect(interimOf(stored)).toEqual({ status: 202, headers: [["x-a", "1"]], body: new Uint8Array(2) });
  });

  it.each([
    [199, false],
    [200, true],
    [599, true],
    [600, false],
    [200.5, false],
    [Number.NaN, false],
  ])("status %d may end an exchange: %s", (status, isFinal) => {
    expect(isFinalStatus(status)).toBe(isFinal);
  });
});

describe("the rule where no keep is given", () => {
  const keeps = (status: number, profile = profiles.ietf): boolean => keepsByDefault(profile)({ status, headers: [] });

  it("releases what says that nothing was done, and leaves server errors open unless the profile keeps them", () => {
    const released = [...Array(500).keys()].filter((status) => status >= 200 && !keeps(status));
    expect(released).toEqual([401, 403, 408, 412, 413, 415, 425, 428, 429]);
    expect([499, 500, 599].map((status) => keeps(status))).toEqual([true, false, false]);
    expect([499, 500, 599].map((status) => keeps(status, profiles.stripe))).toEqual([true, true, true]);
    const verdict = (status: number) => verdictOn({ status, headers: [] }, () => false);
    expect([verdict(499), verdict(500)]).toEqual(["release", "open"]);
  });

  it("keep is shown status, lines and body, and no body of what is streamed", () => {
    const seen: unknown[] = [];
    const keep = (answer: unknown): boolean => seen.push(answer) > 0;
    const headers = [["x-a", "1"]] as const;
    const body = new Uint8Array(3);
    verdictOn({ status: 200, headers, body }, keep);
    verdictOn({ status: 200, headers }, keep);
    expect(seen).toEqual([
      { status: 200, headers, body },
      { status: 200, headers },
    ]);
    expect(seen[1]).not.toHaveProperty("body");
  });

  it("a 402 is read for a challenge up to 64 KiB", () => {
    const challenge = (size: number) => {
      const text = '{"x402Version":1,"accepts":[]}';
      return { status: 402, headers: [], body: Buffer.from(text.padEnd(size)) };
    };
    expect(keepsByDefault(profiles.ietf)(challenge(65_536))).toBe(false);
    expect(keepsByDefault(profiles.ietf)(challenge(65_537))).toBe(true);
    expect(keepsByDefault(profiles.ietf)({ status: 402, headers: [], body: Buffer.from('{"accepts":[]}') })).toBe(true);
  });
});

describe("what is no answer", () => {
  it.each([
    [
      undefined,
      "an answer is { status, headers, body }, got undefined; return it from the function of ctx.transaction",
    ],
    [null, "an answer is { status, headers, body }, got null; return it from the function of ctx.transaction"],
    ["text", "an answer is { status, headers, body }, got text; return it from the function of ctx.transaction"],
    [{ status: 199 }, "an answer needs a final HTTP status from 200 to 599, got 199"],
    [{ status: "200" }, "an answer needs a final HTTP status from 200 to 599, got 200"],
  ])("%j is refused", (answer, message) => {
    expect(() => answerOf(answer as never)).toThrow(message);
  });

  it("200 and 599 are answers; the type goes by the body, and none is said of an empty one", () => {
    const typeOf = (body?: unknown): string | undefined =>
      headerOf(answerOf({ status: 599, body } as never).headers, "content-type");
    expect(answerOf({ status: 200 }).status).toBe(200);
    expect([typeOf(), typeOf(""), typeOf(new Uint8Array(0)), typeOf(null)]).toEqual([
      undefined,
      "text/plain; charset=utf-8",
      "application/octet-stream",
      "application/json; charset=utf-8",
    ]);
    expect(answerOf({ status: 200, headers: { "X-A": [] }, body: "x" }).headers).toEqual([
      ["content-type", "text/plain; charset=utf-8"],
    ]);
  });
});
