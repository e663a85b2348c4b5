import { describe, expect, it } from "vitest";
import { readSecret, sign, verify } from "./standard-webhooks.ts";

const body = new TextEncoder().encode('{"a":1}');
const secret = readSecret("whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
const other = readSecret("whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=");
const nowMs = 1_700_000_000_999;
const signed = sign(secret, { id: "msg_1", body, nowMs });

describe("Standard Webhooks", () => {
  // printf 'msg_1.1700000000.{"a":1}' | openssl dgst -sha256 -hmac 0123456789abcdef0123456789abcdef -binary | base64
  it("signs id, timestamp and body as openssl does", () => {
    expect(signed).toEqual({
      "webhook-id": "msg_1",
      "webhook-timestamp": "1700000000",
      "webhook-signature": "v1,rkwp5YuvdrMkcu0ZhuMsXoTg44mHAr1Q0+FFgFpXsjY=",
    });
    expect(verify([secret], signed, body, { nowMs })).toEqual({ valid: true });
  });

  it("takes an old and a new secret on either side", () => {
    expect(verify([other, secret], signed, body, { nowMs })).toEqual({ valid: true });
    const both = sign([other, secret], { id: "msg_1", body, nowMs });
    expect(both["webhook-signature"].split(" ")).toHaveLength(2);
    expect(verify([secret], both, body, { nowMs })).toEqual({ valid: true });
  });

  it.each([
    ["another body", signed, new TextEncoder().encode('{"a":2}'), nowMs, "no-match"],
    ["another id", { ...signed, "webhook-id": "msg_2" }, body, nowMs, "no-match"],
    ["another time", { ...signed, "webhook-timestamp": "1700000001" }, body, nowMs, "no-match"],
    [
      "another version",
      { ...signed, "webhook-signature": signed["webhook-signature"].replace("v1", "v2") },
      body,
      nowMs,
      "no-match",
    ],
    [
      "a part of it",
      { ...signed, "webhook-signature": signed["webhook-signature"].slice(0, 20) },
      body,
      nowMs,
      "no-match",
    ],
    ["no signature", { ...signed, "webhook-signature": "" }, body, nowMs, "header-missing"],
    ["no id", { ...signed, "webhook-id": undefined }, body, nowMs, "header-missing"],
    ["no number", { ...signed, "webhook-timestamp": "1e9" }, body, nowMs, "timestamp-invalid"],
    ["six minutes later", signed, body, nowMs + 360_000, "too-old"],
    ["six minutes earlier", signed, body, nowMs - 360_000, "too-new"],
  ] as const)("refuses %s", (_title, headers, bytes, atMs, reason) => {
    expect(verify([secret], headers, bytes, { nowMs: atMs })).toEqual({ valid: false, reason });
  });

  it("refuses an id with a full stop: what is signed could be read as another id and another body", () => {
    const inner = new TextEncoder().encode(`1700000001.{"a":1}`);
    const given = sign(secret, { id: "m2", body: inner, nowMs });
    expect(verify([secret], given, inner, { nowMs })).toEqual({ valid: true });
    const shifted = { ...given, "webhook-id": "m2.1700000000", "webhook-timestamp": "1700000001" };
    expect(verify([secret], shifted, body, { nowMs })).toEqual({ valid: false, reason: "id-invalid" });
  });

  it("refuses a signature by a secret it does not know", () => {
    expect(verify([other], signed, body, { nowMs })).toEqual({ valid: false, reason: "no-match" });
  });

  it.each([undefined, "", "secret", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64 not base64 not base64 not base64"])(
    "refuses the secret %j without repeating it",
    (text) => {
      expect(() => readSecret(text, "secrets[0]")).toThrow(/^secrets\[0\]: expected "whsec_"/);
    },
  );
});
