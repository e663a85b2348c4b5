/** Finds a byte pattern in a stream, also where it lies across two chunks. */
export interface ByteWatch {
  /** Where the pattern begins and ends in this chunk; the beginning is negative when it came with an earlier chunk. */
  look(chunk: Buffer): { readonly start: number; readonly end: number } | undefined;
}

export function watchBytes(pattern: string | Uint8Array): ByteWatch {
  const wanted = Buffer.from(pattern);
  if (wanted.length === 0) throw new RangeError("the byte pattern is empty; give at least one byte");
  let tail = Buffer.alloc(0);
  return {
    look(chunk) {
      const window = Buffer.concat([tail, chunk]);
      const at = window.indexOf(wanted);
      const start = at - tail.length;
      tail = Buffer.from(window.subarray(Math.max(0, window.length - wanted.length + 1)));
      if (at < 0) return undefined;
      // What was found must not be found again in the next window.
      tail = Buffer.from(tail.subarray(Math.max(0, tail.length - Math.max(0, window.length - at - wanted.length))));
      return { start, end: start + wanted.length };
    },
  };
}
