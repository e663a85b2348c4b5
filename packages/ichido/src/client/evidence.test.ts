import { describe, expect, it } from "vitest";
import { expectsJson, isProven, looksOwn } from "./evidence.ts";
import { isInterim, problemIn, readAnswer, type Answer } from "./result.ts";

const answerOf = (status: number, type: string | undefined, body = "", more: Partial<Answer> = {}): Promise<Answer> =>
  readAnswer(new Response(body, { status, headers: type === undefined ? {} : { "content-type": type } })).then(
    (answer) => {
      if (type === undefined) answer.headers.delete("content-type");
      return { ...answer, ...more };
    },
  );

describe("what a request expects", () => {
  it.each([
    [{ accept: "application/json" }, true],
    [{ accept: "application/vnd.api+JSON, */*" }, true],
    [{ accept: "text/html, application/json" }, false],
    [{ accept: "*/*", "content-type": "application/json" }, false],
    [{ "content-type": "application/json" }, true],
    [{ "content-type": "application/json; charset=utf-8" }, true],
    [{ "content-type": "Application/Problem+Json" }, true],
    [{ "content-type": "application/json ;a=b" }, true],
    [{ "content-type": "application/jsonp" }, false],
    [{ "content-type": "x-application/json" }, false],
    [{ "content-type": "application/a;b+json" }, false],
    [{ "content-type": "text/plain" }, false],
    [{}, false],
  ])("%j expects JSON: %s", (headers, expected) => {
    expect(expectsJson(new Headers(headers as Record<string, string>))).toBe(expected);
  });
});

describe("who made an answer", () => {
  it.each([
    [200, "application/json", "{}", true],
    [200, "application/json", "", true],
    [200, "application/json", '{"cut', false],
    [200, "application/problem+json", '{"cut', false],
    [200, "text/plain", '{"cut', true],
    [299, "text/plain", "", true],
    [300, "text/plain", "", false],
    [399, "text/plain", "", false],
    [200, "text/html", "<html>", false],
    [200, "Text/HTML; charset=utf-8", "", false],
    [200, "application/xhtml+xml", "", false],
    [200, "x/text/html", "", true],
    [200, undefined, "  <!DOCTYPE html>", false],
    [200, undefined, "<HTML>", false],
    [200, undefined, "a <html>", true],
    [200, undefined, "<p>", true],
  ])("%i %s %j, where JSON is expected, looks like the service's own: %s", async (status, type, body, own) => {
    expect(looksOwn(await answerOf(status, type, body), true, false)).toBe(own);
  });

  it("a page is the service's own where no JSON is expected", async () => {
    expect(looksOwn(await answerOf(200, "text/html", "<html>"), false, false)).toBe(true);
  });

  it("a refusal counts where refusals are believed; what was redirected never does", async () => {
    const refusal = await answerOf(400, "application/json", "{}");
    expect([looksOwn(refusal, true, true), looksOwn(refusal, true, false)]).toEqual([true, false]);
    const edge = await answerOf(399, "application/json", "{}");
    expect(looksOwn(edge, true, true)).toBe(false);
    const redirected = await answerOf(200, "application/json", "{}", { redirected: true });
    expect(looksOwn(redirected, true, true)).toBe(false);
  });

  it("a replay is proof, by either marker, and so is an answer that was not stored", async () => {
    const plain = await answerOf(200, "application/json", "{}");
    const marked = async (name: string, value: string): Promise<Answer> => {
      const answer = await answerOf(200, "application/json", "{}");
      answer.headers.set(name, value);
      return answer;
    };
    expect(isProven(plain, undefined)).toBe(false);
    expect(isProven(plain, { code: "other" })).toBe(false);
    expect(isProven(plain, { code: "response-not-stored" })).toBe(true);
    expect(isProven(await marked("idempotency-replayed", "true"), undefined)).toBe(true);
    expect(isProven(await marked("idempotent-replayed", "true"), undefined)).toBe(true);
    expect(isProven(await marked("idempotency-replayed", "false"), undefined)).toBe(false);
    expect(isProven(await marked("idempotent-replayed", "yes"), undefined)).toBe(false);
  });
});

describe("an answer that was read", () => {
  it("has what the response had, as text and as JSON", async () => {
    const answer = await readAnswer(
      new Response('{"a":"ü"}', { status: 201, statusText: "Made", headers: { "x-a": "1" } }),
    );
    expect(answer).toMatchObject({ status: 201, statusText: "Made", url: "", redirected: false });
    expect([answer.text(), answer.json(), answer.headers.get("x-a"), answer.bytes.length]).toEqual([
      '{"a":"ü"}',
      { a: "ü" },
      "1",
      10,
    ]);
  });

  it.each([
    [{ "content-length": "4" }, "cut at 3 of 4 bytes"],
    [{ "content-length": "3" }, undefined],
    [{ "content-length": "2" }, undefined],
    [{ "content-length": "9", "content-encoding": "gzip" }, undefined],
    [{}, undefined],
  ])("of three bytes, announced as %j: %s", async (headers, message) => {
    const reading = readAnswer(new Response("abc", { headers: headers as Record<string, string> }));
    const told = await reading.then(
      () => undefined,
      (error: Error) => error.message,
    );
    expect(told).toBe(message);
  });

  it.each([
    ["application/problem+json", '{"code":"a"}', { code: "a" }],
    ["application/problem+json; charset=utf-8", '{"code":"a"}', { code: "a" }],
    ["application/problem+json", "7", undefined],
    ["application/problem+json", "null", undefined],
    ["application/problem+json", "{", undefined],
    ["application/json", '{"code":"a"}', undefined],
    [undefined, '{"code":"a"}', undefined],
  ])("%s %s is the problem %j", async (type, body, problem) => {
    expect(problemIn(await answerOf(400, type, body))).toEqual(problem);
  });

  it.each([
    [202, { operationId: "o", state: "processing" }, true],
    [202, { operationId: "o", state: "unknown" }, true],
    [202, { operationId: "o", state: "done" }, false],
    [202, { operationId: 7, state: "processing" }, false],
    [202, null, false],
    [200, { operationId: "o", state: "processing" }, false],
  ])("%i %j says not yet: %s", async (status, body, interim) => {
    expect(isInterim(await answerOf(status, "application/json", JSON.stringify(body)))).toBe(interim);
  });

  it("a 202 that is no JSON says nothing of itself", async () => {
    expect(isInterim(await answerOf(202, "text/plain", "soon"))).toBe(false);
  });
});
