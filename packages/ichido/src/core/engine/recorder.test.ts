import { describe, expect, it } from "vitest";
import { answerOf } from "./answer.ts";
import { profiles } from "../contract/profiles.ts";
import {
  headerOf,
  isKeptHeader,
  isSendableHeader,
  keepsByDefault,
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
