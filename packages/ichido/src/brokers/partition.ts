/** Which part of an ordered stream a key belongs to; publisher and subscription must agree on the count. FNV-1a over UTF-8: spreads keys evenly, needs no secret, and is the same in every language that reads the stream. */
const encoder = new TextEncoder();

export function partitionOf(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (const byte of encoder.encode(key)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  // The low bits of FNV are its weakest: fold before the remainder.
  return ((hash ^ (hash >>> 16)) >>> 0) % partitions;
}
