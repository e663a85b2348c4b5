import { describe, expect, it } from "vitest";
import { parametersOf, parseMediaType } from "./media-type.ts";

describe("parseMediaType", () => {
  it.each([
    ["application/json", "application/json", "json"],
    ["Application/JSON ; charset=utf-8", "application/json", "json"],
    ["application/vnd.api+json;v=1", "application/vnd.api+json", "json"],
    ["application/merge-patch+JSON", "application/merge-patch+json", "json"],
    ["application/x-www-form-urlencoded", "application/x-www-form-urlencoded", "form"],
    ["multipart/form-data", "multipart/form-data", "multipart"],
    ["application/x-ndjson", "application/x-ndjson", "other"],
    ["text/plain", "text/plain", "other"],
    ["+json", "+json", "other"],
    ["application/json, application/json", "application/json, application/json", "other"],
    [undefined, "", "other"],
  ])("F-09 reads %j", (header, essence, kind) => {
    expect(parseMediaType(header)).toEqual({ essence, kind, boundary: undefined });
  });

  it.each([
    ["multipart/form-data; boundary=abc", "abc"],
    ["multipart/form-data;charset=utf-8;BOUNDARY=abc", "abc"],
    ['multipart/mixed; boundary="a b;c"', "a b;c"],
    ['multipart/mixed; x="; boundary=no"; boundary="a\\"b"', 'a"b'],
    ["multipart/form-data; boundary=a;; charset=x; ", "a"],
    ["multipart/form-data; boundary=a; boundary=b", undefined],
    ["multipart/form-data; boundary=a b", undefined],
    ["multipart/form-data; boundary", undefined],
    ['multipart/form-data; boundary="a', undefined],
  ])("A28 finds the boundary in %s", (header, boundary) => {
    expect(parseMediaType(header).boundary).toBe(boundary);
  });
});

describe("parametersOf", () => {
  it("A28 undoes escaped quotes and leaves other backslashes alone", () => {
    const parameters = parametersOf('form-data; name="a\\"b"; filename="C:\\temp\\\\x"');
    expect(parameters?.get("name")).toBe('a"b');
    expect(parameters?.get("filename")).toBe("C:\\temp\\x");
    expect(parameters?.get("size")).toBeUndefined();
  });

  it("A28 gives up on what parsers read differently", () => {
    for (const text of ['a; filename=my file; name="b"', "a; name=b; NAME=c", "a; name", 'a; name="b"c']) {
      expect(parametersOf(text)).toBeUndefined();
    }
    expect(parametersOf("a")).toEqual(new Map());
  });
});
