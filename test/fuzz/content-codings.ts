/** Content codings, named and nested at will: the bytes that are inside, within the bound, or a refusal. */
import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { RequestBodyError } from "../../packages/ichido/src/core/contract/errors.ts";
import { codingsOf, decodeContent } from "../../packages/ichido/src/http/content-coding.ts";
import { flipBit, inheritedNames } from "./draw.ts";
import { Broken, must, type Random, type Target } from "./target.ts";

const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const packers: ReadonlyMap<string, (bytes: Uint8Array) => Uint8Array> = new Map([
  ["gzip", (bytes) => gzipSync(bytes)],
  ["x-gzip", (bytes) => gzipSync(bytes)],
  ["deflate", (bytes) => deflateSync(bytes)],
  ["br", (bytes) => brotliCompressSync(bytes, quick)],
]);
const known = [...packers.keys()];
const strange = [...inheritedNames, "zip", "compress", "gzip2", "*", "é"];
const layersMax = 4;

interface Sent {
  readonly codings: readonly string[];
  readonly bytes: Uint8Array;
  readonly isSound: boolean;
}

function drawSent(random: Random, content: Uint8Array): Sent {
  const codings: string[] = [];
  let bytes = content;
  for (let layers = random.pick([0, 1, 1, 1, 2, 3, 4, 5]); layers > 0; layers -= 1) {
    const coding = random.pick(known);
    codings.push(coding);
    bytes =
      coding === "deflate" && random.chance(0.3) ? deflateRawSync(bytes) : (packers.get(coding)?.(bytes) ?? bytes);
  }
  let isSound = codings.length <= layersMax;
  if (random.chance(0.3)) {
    codings.splice(random.int(0, codings.length), 0, random.pick(strange));
    isSound = false;
  }
  return { codings, bytes, isSound };
}

/** As a sender may write it: in any case, on several lines, with nothing and `identity` between. */
function spell(random: Random, codings: readonly string[]): string[] {
  const words = codings.flatMap((each) => {
    const word = random.chance(0.3) ? each.toUpperCase() : each;
    return random.chance(0.1) ? [word, random.pick(["", "identity"])] : [word];
  });
  const cut = random.int(0, words.length);
  return [words.slice(0, cut).join(", "), words.slice(cut).join(" ,")];
}

export const contentCodings: Target = {
  name: "content-codings",
  promise:
    "F-13 S12 a body is unpacked to what was packed, within its bound, or refused; no inherited name is a coding",
  inputs: 3_000,
  open: () => ({
    async attempt(random) {
      const content = random.chance(0.5) ? random.bytes(random.int(1, 300)) : Buffer.alloc(random.int(1, 50_000));
      const bytesMax = random.pick([10, 1_000, 100_000]);
      const { codings, bytes, isSound } = drawSent(random, content);
      const isFlipped = codings.length > 0 && random.chance(0.1);
      const sent = isFlipped ? flipBit(random, bytes) : bytes;
      const shown = [codings, content.length, bytesMax] as const;
      try {
        const decoded = await decodeContent(sent, codingsOf(spell(random, codings)), bytesMax);
        if (codings.length > 0) must(decoded.length <= bytesMax, "more than the bound", decoded.length, ...shown);
        must(isSound, "unpacked by a coding that there is not", ...shown);
        if (!isFlipped) must(Buffer.compare(decoded, content) === 0, "other bytes", ...shown);
      } catch (error) {
        if (error instanceof Broken) throw error;
        must(error instanceof RequestBodyError, "an odd error", error, ...shown);
        const isTooLarge = error.code === "request-too-large";
        must(isFlipped || !isSound || (isTooLarge && bytesMax < 100_000), "refused though sound", error, ...shown);
      }
    },
  }),
};
