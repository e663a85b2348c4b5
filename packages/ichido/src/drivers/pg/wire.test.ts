import { describe, expect, it } from "vitest";
import { PgWriter } from "./wire.ts";

const hex = (bytes: Buffer): string => bytes.toString("hex").replaceAll(/(..)/g, "$1 ").trim();

describe("messages of the extended protocol", () => {
  it("are spelled as the server reads them", () => {
    const writer = new PgWriter();
    writer.parse("n", "select $1");
    expect(hex(writer.take())).toBe("50 00 00 00 12 6e 00 73 65 6c 65 63 74 20 24 31 00 00 00");
    writer.bind("n", ["é", null, Buffer.from([0, 255]), ""]);
    expect(hex(writer.take())).toBe(
      [
        "42 00 00 00 29 00 6e 00",
        "00 04 00 00 00 00 00 01 00 00",
        "00 04 00 00 00 02 c3 a9 ff ff ff ff 00 00 00 02 00 ff 00 00 00 00",
        "00 00",
      ].join(" "),
    );
    writer.describePortal();
    expect(hex(writer.take())).toBe("44 00 00 00 06 50 00");
    writer.execute();
    expect(hex(writer.take())).toBe("45 00 00 00 09 00 00 00 00 00");
    writer.closeStatement("n");
    expect(hex(writer.take())).toBe("43 00 00 00 07 53 6e 00");
    writer.sync();
    expect(hex(writer.take())).toBe("53 00 00 00 04");
  });

  it("come out in the order they were written, and are the taker's own", () => {
    const writer = new PgWriter();
    writer.sync();
    writer.execute();
    const first = writer.take();
    const copy = Buffer.from(first);
    writer.bind("another", ["x".repeat(100)]);
    writer.take();
    expect(first.equals(copy)).toBe(true);
    expect(hex(first)).toBe("53 00 00 00 04 45 00 00 00 09 00 00 00 00 00");
  });

  it("a value larger than what is kept comes out whole, and small ones after it as before", () => {
    const writer = new PgWriter();
    const large = Buffer.alloc(3_000_000, 7);
    writer.bind("", [large, "ü".repeat(200_000)]);
    const message = writer.take();
    expect(message.readInt32BE(1)).toBe(message.length - 1);
    expect(message.indexOf(large)).toBeGreaterThan(0);
    expect(message.includes("ü".repeat(200_000))).toBe(true);
    writer.sync();
    expect(hex(writer.take())).toBe("53 00 00 00 04");
  });

  it("a text that would be cut short is refused, and nothing of it is left", () => {
    const writer = new PgWriter();
    expect(() => writer.parse("", "select 1\0; drop")).toThrow("U+0000");
    writer.forget();
    writer.sync();
    expect(hex(writer.take())).toBe("53 00 00 00 04");
  });
});
