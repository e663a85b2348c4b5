/** Reads the answers of one connection: status and length only, from the bytes, and where they stood the last time first. */

const crlf = 0x0d_0a;
/** The end of `Content-Length: `. */
const lengthEnding = 0x74_68_3a_20;
const [zero, nine] = [0x30, 0x39];

/** The number whose first digit is at `at`. */
function digits(bytes: Buffer, at: number): number {
  let value = 0;
  for (let index = at; index < bytes.length; index += 1) {
    const digit = bytes[index] ?? 0;
    if (digit < zero || digit > nine) break;
    value = value * 10 + digit - zero;
  }
  return value;
}

export class AnswerReader {
  /** Of the last answer: where its head ended, and where its length was; a head of this shape is not searched again. */
  #headEnd = 0;
  #lengthAt = 0;

  /** The length of the answer that begins these bytes, once its head and, where it tells no length, its end are there. */
  lengthOf(bytes: Buffer): number | undefined {
    return this.#isShapedAsBefore(bytes) ? this.#headEnd + digits(bytes, this.#lengthAt) : this.#search(bytes);
  }

  #isShapedAsBefore(bytes: Buffer): boolean {
    const end = this.#headEnd;
    return (
      end > 0 &&
      bytes.length >= end &&
      bytes.readUInt16BE(end - 2) === crlf &&
      bytes.readUInt16BE(end - 4) === crlf &&
      bytes.readUInt32BE(this.#lengthAt - 4) === lengthEnding
    );
  }

  #search(bytes: Buffer): number | undefined {
    const text = bytes.toString("latin1");
    const end = text.indexOf("\r\n\r\n");
    if (end === -1) return undefined;
    const name = /\r\ncontent-length: (?=\d)/i.exec(text.slice(0, end));
    if (name === null) {
      const last = text.indexOf("\r\n0\r\n\r\n", end);
      return last === -1 ? undefined : last + 7;
    }
    this.#headEnd = end + 4;
    this.#lengthAt = name.index + name[0].length;
    return this.#headEnd + digits(bytes, this.#lengthAt);
  }
}

export const statusOf = (bytes: Buffer): number => digits(bytes, "HTTP/1.1 ".length);
