/**
 * The few messages of PostgreSQL's extended protocol that a batch is made of, written one after the other into one buffer:
 * it leaves in one write, where `pg` would make a buffer and a write of each.
 */

/** More than this is not kept for the next message. */
const keptBytes = 65_536;
const utf8BytesMax = 3;

const codes = { bind: 0x42, close: 0x43, describe: 0x44, execute: 0x45, parse: 0x50, sync: 0x53 } as const;
const statementMark = 0x53;
const portalMark = 0x50;

export class PgWriter {
  #buffer = Buffer.allocUnsafe(keptBytes);
  #end = 0;
  #start = 0;

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#end + bytes));
    this.#buffer.copy(larger, 0, 0, this.#end);
    this.#buffer = larger;
  }

  #byte(value: number): void {
    this.#reserve(1);
    this.#buffer[this.#end] = value;
    this.#end += 1;
  }

  #int16(value: number): void {
    this.#reserve(2);
    this.#end = this.#buffer.writeUInt16BE(value, this.#end);
  }

  #int32(value: number): void {
    this.#reserve(4);
    this.#end = this.#buffer.writeInt32BE(value, this.#end);
  }

  #text(text: string): void {
    this.#reserve(text.length * utf8BytesMax);
    this.#end += this.#buffer.write(text, this.#end, "utf8");
  }

  #closedText(text: string): void {
    // It would end the text there, and what follows would be read as something else.
    if (text.includes("\0")) throw new TypeError("the text of a statement holds U+0000");
    this.#text(text);
    this.#byte(0);
  }

  #begin(code: number): void {
    this.#byte(code);
    this.#start = this.#end;
    this.#int32(0);
  }

  #finish(): void {
    this.#buffer.writeInt32BE(this.#end - this.#start, this.#start);
  }

  #value(value: string | Buffer | null): void {
    if (value === null) return this.#int32(-1);
    if (typeof value !== "string") {
      this.#int32(value.length);
      this.#reserve(value.length);
      this.#end += value.copy(this.#buffer, this.#end);
      return;
    }
    const length = this.#end;
    this.#int32(0);
    this.#text(value);
    this.#buffer.writeInt32BE(this.#end - length - 4, length);
  }

  closeStatement(name: string): void {
    this.#begin(codes.close);
    this.#byte(statementMark);
    this.#closedText(name);
    this.#finish();
  }

  parse(name: string, text: string): void {
    this.#begin(codes.parse);
    this.#closedText(name);
    this.#closedText(text);
    this.#int16(0);
    this.#finish();
  }

  /** To the unnamed portal: texts as text, bytes as bytes, answers as text. */
  bind(name: string, values: readonly (string | Buffer | null)[]): void {
    this.#begin(codes.bind);
    this.#closedText("");
    this.#closedText(name);
    this.#int16(values.length);
    for (const value of values) this.#int16(value === null || typeof value === "string" ? 0 : 1);
    this.#int16(values.length);
    for (const value of values) this.#value(value);
    this.#int16(0);
    this.#finish();
  }

  describePortal(): void {
    this.#begin(codes.describe);
    this.#byte(portalMark);
    this.#closedText("");
    this.#finish();
  }

  execute(): void {
    this.#begin(codes.execute);
    this.#closedText("");
    this.#int32(0);
    this.#finish();
  }

  sync(): void {
    this.#begin(codes.sync);
    this.#finish();
  }

  /** Everything since the last time, the caller's to keep. */
  take(): Buffer {
    const written = this.#buffer.subarray(0, this.#end);
    this.#end = 0;
    if (this.#buffer.length === keptBytes) return Buffer.from(written);
    this.#buffer = Buffer.allocUnsafe(keptBytes);
    return written;
  }

  /** After something that cannot be sent. */
  forget(): void {
    this.#end = 0;
  }
}
