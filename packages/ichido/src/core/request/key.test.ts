import fc from "fast-check";
import { parseItem, serializeItem } from "structured-headers";
import { describe, expect, it } from "vitest";
import { parseKey } from "./key.ts";
import { type Profile, profiles } from "../contract/profiles.ts";

const { ietf, stripe } = profiles;
const adr007 = profiles["adr-007"];
const strict: Profile = { ...ietf, name: "strict", keyForm: "strict" };
const uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324";

/** The key, or the reason why there is none. */
function read(line: string | readonly string[], profile: Profile = ietf): string {
  const result = parseKey(typeof line === "string" ? [line] : line, profile);
  return result.ok ? result.key : `(${result.reason})`;
}

describe("parseKey, lenient", () => {
  it("H-01 takes a structured string as the text without quotes", () => {
    expect(read(`"${uuid}"`)).toBe(uuid);
  });

  it.each([uuid, "a1b2c3d4-40d5-43e8-bc93-6894a57f9324"])("H-02 takes the bare UUID %s", (bare) => {
    expect(read(bare)).toBe(bare);
  });

  it("H-03 reads the quoted and the bare form as one key", () => {
    expect(read('"k1-abc"')).toBe(read("k1-abc"));
  });

  it("H-04 ignores parameters, but not malformed ones", () => {
    expect(read('"k";v=1;grease')).toBe("k");
    expect(read('"k";v=')).toBe("(invalid)");
  });

  it.each(['""', "", " ", "\t ", '" "', '"   "'])("H-05 refuses the empty key in %j", (line) => {
    expect(read(line)).toBe("(invalid)");
  });

  it("H-05 K-03 tells an absent header from an empty one", () => {
    expect(read([])).toBe("(absent)");
  });

  it("H-06 A15 takes 1 and 255 characters, refuses 256, and never cuts", () => {
    const longest = "x".repeat(255);
    for (const [text, expected] of [
      ["x", "x"],
      [longest, longest],
      [`${longest}y`, "(invalid)"],
    ] as const) {
      expect(read(text)).toBe(expected);
      expect(read(`"${text}"`)).toBe(expected);
    }
    expect(read("x".repeat(20_000))).toBe("(invalid)");
  });

  it("H-06 counts characters after unescaping", () => {
    expect(read(`"${'\\"'.repeat(255)}"`)).toBe('"'.repeat(255));
    expect(read(`"${'\\"'.repeat(256)}"`)).toBe("(invalid)");
  });

  it.each(["é", "\xe9", "\t", "\x7f", "\x00", "\x1f", "日"])("H-07 A15 refuses %j in both forms", (character) => {
    expect(read(`"a${character}b"`)).toBe("(invalid)");
    expect(read(`a${character}b`)).toBe("(invalid)");
  });

  it.each([[['"a"', '"b"']], [['"a"', '"a"']], [["a", "a"]], [['"a"', ""]], [['"a", "b"']], [['"a", "a"']], [["a,a"]]])(
    "H-08 A15 refuses a repeated header %j",
    (lines) => {
      expect(read(lines)).toBe("(invalid)");
    },
  );

  it("H-09 takes a comma and a semicolon inside quotes only", () => {
    expect(read('"a,b;c"')).toBe("a,b;c");
    for (const bare of ["a, b", "a,b", "a;b", "a b"]) expect(read(bare)).toBe("(invalid)");
  });

  it("H-10 unescapes quotes and backslashes and refuses what is malformed", () => {
    expect(read('"a\\"b\\\\c"')).toBe('a"b\\c');
    for (const line of ['"a\\x"', '"abc', '"abc"x', '"a" "b"']) expect(read(line)).toBe("(invalid)");
  });

  it("H-11 takes other structured types only where they are bare text", () => {
    for (const line of ["123", "1.5", "?1", ":YWJj:", "@1"]) expect(read(line)).toBe(line);
    for (const line of ['%"x"', '("a")']) expect(read(line)).toBe("(invalid)");
  });

  it("H-13 holds keys apart by case and by spaces inside the quotes", () => {
    const keys = ['"Ab"', '"ab"', '"Ab "', '" Ab"'].map((line) => read(line));
    expect(keys).toEqual(["Ab", "ab", "Ab ", " Ab"]);
  });

  it("H-13 drops white space around the field value", () => {
    expect(read(' \t"Ab "\t ')).toBe("Ab ");
    expect(read("   k1 ")).toBe("k1");
  });

  it("takes the bare keys that clients make", () => {
    for (const bare of [
      "01ARZ3NDEKTSV4RRFFQ69G5FAV",
      "user:123/abc_def-1.2~x+=@",
      "YWJj+/==",
      "a?b&c#d!e$f*g^h`i|j%20",
    ]) {
      expect(read(bare)).toBe(bare);
    }
  });

  it("refuses bare text that is a slip of quoting or an unfilled template", () => {
    for (const bare of ["'abc'", 'abc"', "{{key}}", "<key>", "[object]", "a\\b", "f(x)"])
      expect(read(bare)).toBe("(invalid)");
  });

  it("H-10 agrees with an independent RFC 9651 parser on every quoted line", () => {
    const piece = fc.constantFrom("a", "B", " ", "\\", '"', '\\"', "\\\\", ";", "v=1", ",", "é", "~");
    fc.assert(
      fc.property(fc.string({ unit: piece, maxLength: 10 }), (rest) => {
        const line = `"${rest.trimEnd()}`;
        let expected: string;
        try {
          expected = parseItem(line)[0] as string;
        } catch {
          expected = "(invalid)";
        }
        expect(read(line)).toBe(expected.trim() === "" ? "(invalid)" : expected);
      }),
      { numRuns: 3000 },
    );
  });

  it("H-01 gives back every printable key that a client serialises", () => {
    const printable = fc
      .string({ unit: "grapheme-ascii", minLength: 1, maxLength: 255 })
      .filter((key) => key.trim() !== "");
    fc.assert(
      fc.property(printable, (key) => {
        expect(read(serializeItem([key, new Map()]))).toBe(key);
      }),
    );
  });
});

describe("parseKey, other forms", () => {
  it.each([uuid, "a1b2c3d4-40d5-43e8-bc93-6894a57f9324", "123", "1.5", "?1", ":YWJj:", "@1", '%"x"', '("a")', "k"])(
    "H-02 H-03 H-11 strict refuses %s",
    (line) => {
      expect(read(line, strict)).toBe("(invalid)");
    },
  );

  it("H-01 H-04 strict takes the structured string with parameters", () => {
    expect(read('"k";v=1', strict)).toBe("k");
  });

  it("H-01 stripe keeps quotes as data", () => {
    expect(read('"abc"', stripe)).toBe('"abc"');
    expect(read("abc", stripe)).toBe("abc");
    expect(read('ab"c\\', stripe)).toBe('ab"c\\');
    expect(read('"a,b;c d"', stripe)).toBe('"a,b;c d"');
  });

  it.each(['"k";v=1', '"a", "b"', "a, b", "a;b", "a b", '""', '" "', "é", '"é"', ""])(
    "H-04 H-05 H-08 stripe refuses %j",
    (line) => {
      expect(read(line, stripe)).toBe("(invalid)");
    },
  );

  it("adr-007 demands a UUID of version 4, in any case", () => {
    expect(read(uuid.toUpperCase(), adr007)).toBe(uuid);
    expect(read(`"${uuid}"`, adr007)).toBe(uuid);
    const version7 = "018f3e5c-7a2b-7c3d-8e4f-123456789abc";
    const wrongVariant = "8e03978e-40d5-43e8-cc93-6894a57f9324";
    for (const line of [version7, wrongVariant, "abc", `${uuid}0`, uuid.replaceAll("-", "")]) {
      expect(read(line, adr007)).toBe("(invalid)");
    }
  });

  it("honours a shorter limit", () => {
    const short: Profile = { ...ietf, keyLengthMax: 10 };
    expect(read("x".repeat(10), short)).toBe("x".repeat(10));
    expect(read("x".repeat(11), short)).toBe("(invalid)");
  });
});

describe("the detail shown to a client", () => {
  it("never holds the key, and says what to send", () => {
    const secret = "s3cr3t";
    const lines = [
      [`${secret},`],
      [`"${secret}`],
      [secret.repeat(60)],
      [secret, secret],
      [`"${secret}"x`],
      [`${secret}é`],
    ];
    for (const profile of [ietf, strict, stripe, adr007]) {
      for (const given of [...lines, [""], []]) {
        const result = parseKey(given, profile);
        if (result.ok) continue;
        expect(result.detail).not.toContain(secret);
        expect(result.detail).toMatch(/^The .*Idempotency-Key.* send /i);
        expect(result.detail).toMatch(/\.$/);
      }
    }
  });

  it("says which form the profile expects", () => {
    const detail = (profile: Profile): string => {
      const result = parseKey([], profile);
      return result.ok ? "" : result.detail;
    };
    expect(detail(ietf)).toMatch(/send one key of 1 to 255 printable ASCII characters\.$/);
    expect(detail(strict)).toMatch(/characters in double quotes/);
    expect(detail(adr007)).toMatch(/send a UUID of version 4\.$/);
  });

  it("names the header of the profile", () => {
    const result = parseKey([], { ...ietf, header: "x-request-token" });
    expect(result).toMatchObject({ ok: false, detail: expect.stringContaining("X-Request-Token") as unknown });
  });
});
