import { describe, expect, it } from "vitest";
import { checkPreconditions, etagOfBytes, etagOfVersion, parseEntityTags, versionOfEtag } from "./conditional.ts";

const put = { method: "PUT", current: '"v7"' } as const;

describe("checkPreconditions", () => {
  it.each([
    ["no condition", { ...put }, "proceed"],
    ["If-Match with the tag", { ...put, ifMatch: '"v7"' }, "proceed"],
    ["If-Match with another", { ...put, ifMatch: '"v6"' }, 412],
    ["If-Match with a list that has it", { ...put, ifMatch: '"v5", "v7"' }, "proceed"],
    ["If-Match in several lines", { ...put, ifMatch: ['"v5"', '"v7"'] }, "proceed"],
    ["If-Match with the same tag, but weak", { ...put, ifMatch: 'W/"v7"' }, 412],
    ["If-Match: * where something is there", { ...put, ifMatch: "*" }, "proceed"],
    ["If-Match: * where nothing is", { method: "PUT", current: undefined, ifMatch: "*" }, 412],
    ["If-Match where nothing is", { method: "PUT", current: undefined, ifMatch: '"v7"' }, 412],
    ["If-Match malformed", { ...put, ifMatch: "v7" }, 400],
    ["If-None-Match: * to create", { method: "PUT", current: undefined, ifNoneMatch: "*" }, "proceed"],
    ["If-None-Match: * where something is", { ...put, ifNoneMatch: "*" }, 412],
    ["If-None-Match with the tag, on a write", { ...put, ifNoneMatch: '"v7"' }, 412],
    ["If-None-Match with the tag, on a read", { ...put, method: "GET", ifNoneMatch: '"v7"' }, 304],
    ["If-None-Match compares weakly", { ...put, method: "HEAD", ifNoneMatch: 'W/"v7"' }, 304],
    ["If-None-Match with another", { ...put, method: "GET", ifNoneMatch: '"v6"' }, "proceed"],
    ["If-None-Match malformed", { ...put, ifNoneMatch: '"v7' }, 400],
    ["If-Match is judged first", { ...put, method: "GET", ifMatch: '"v6"', ifNoneMatch: '"v7"' }, 412],
    ["required and absent", { ...put, required: true }, 428],
    ["required of writes alone", { ...put, method: "GET", required: true }, "proceed"],
    ["required, and If-None-Match with another", { ...put, required: true, ifNoneMatch: '"v6"' }, 428],
    ["required, and If-None-Match malformed", { ...put, required: true, ifNoneMatch: '"v6' }, 400],
    [
      "required, and If-None-Match: * to create",
      { method: "PUT", current: undefined, required: true, ifNoneMatch: "*" },
      "proceed",
    ],
    ["required and given", { ...put, required: true, ifMatch: '"v7"' }, "proceed"],
  ] as const)("RFC 9110 13.2.2: %s", (_title, request, expected) => {
    const result = checkPreconditions(request);
    expect("status" in result ? result.status : result.verdict).toBe(expected);
  });

  it("refuses a current tag that is weak or without quotes", () => {
    for (const current of ['W/"v7"', "v7"]) {
      expect(() => checkPreconditions({ method: "PUT", current })).toThrow(/strong entity tag/);
    }
  });
});

describe("entity tags", () => {
  it("are read with commas inside, empty members and obsolete text", () => {
    expect(parseEntityTags('"a,b", , W/"c" ,"\u00e9"')).toEqual([
      { weak: false, tag: '"a,b"' },
      { weak: true, tag: '"c"' },
      { weak: false, tag: '"\u00e9"' },
    ]);
    expect(parseEntityTags(" * ")).toBe("*");
  });

  it.each(["", " , ", "abc", '"a" "b"', 'w/"a"', '"a\u0001"', '*, "a"', '"a'])("%j is no list of them", (text) => {
    expect(parseEntityTags(text)).toBeUndefined();
  });

  it("of versions come back as versions, others do not", () => {
    expect(versionOfEtag(etagOfVersion(7))).toBe(7);
    for (const tag of ['"7"', '"v07"', '"v-1"', 'W/"v7"', '"v99999999999999999"']) {
      expect(versionOfEtag(tag)).toBeUndefined();
    }
    expect(() => etagOfVersion(1.5)).toThrow(/whole number/);
  });

  it("of bytes differ when one bit does", () => {
    expect(etagOfBytes(Buffer.from("a"))).toMatch(/^"[\w-]{43}"$/);
    expect(etagOfBytes(Buffer.from("a"))).not.toBe(etagOfBytes(Buffer.from("b")));
  });
});
