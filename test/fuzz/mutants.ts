/** Rules against hostile input, undone one by one on a copy of the source, and the kind of input that must notice. */
import { Copy, one, type Mutant } from "../../simulation/mutants/mutant.ts";
import { play } from "../../simulation/mutants/hunt.ts";
import type { Found } from "./target.ts";

export interface FuzzMutant extends Mutant {
  readonly target: string;
  /** Inputs after which it must have been noticed. */
  readonly within: number;
  readonly needs?: "redis";
}

const by = (target: string, within: number, mutant: Mutant): FuzzMutant => ({ ...mutant, target, within });

export const fuzzMutants: readonly FuzzMutant[] = [
  by(
    "header-lines",
    5_000,
    one("two lines are one key", "core/request/key.ts", "if (lines.length > 1) {", "if (lines.length > 2) {"),
  ),
  by(
    "header-lines",
    5_000,
    one(
      "a comma is part of a bare key",
      "core/request/key.ts",
      "const lenientBare = /^[A-Za-z0-9",
      "const lenientBare = /^[,A-Za-z0-9",
    ),
  ),
  by(
    "json-bodies",
    2_000,
    one(
      "members out of order count as canonical",
      "core/request/canonical-json.ts",
      "      this.isPlain = false;\n      if (at > insertionMax)",
      "      if (at > insertionMax)",
    ),
  ),
  by(
    "form-bodies",
    2_000,
    one(
      "the order of different names counts",
      "core/request/form.ts",
      "pairs.sort(([a], [b]) => (a === b ? 0 : a < b ? -1 : 1));",
      "",
    ),
  ),
  by(
    "multipart-bodies",
    20_000,
    one(
      "a boundary that is cut by a chunk is content",
      "core/request/multipart-delimiter.ts",
      "const start = isEnded ? -1 : tailOf(bytes, lineBreakAndBoundary);",
      "void tailOf;\n    const start = -1 as number;",
    ),
  ),
  by(
    "multipart-bodies",
    5_000,
    one("a header line may hold a line feed", "core/request/multipart.ts", "!valueForm.test(value) || ", ""),
  ),
  by(
    "replayed-lines",
    2_000,
    one(
      "what a row holds is replayed",
      "core/engine/recorder.ts",
      "const headers = keptHeaders(stored.headers);",
      "const { headers } = stored;",
    ),
  ),
  by(
    "replayed-lines",
    2_000,
    one(
      "a value may hold line breaks",
      "core/engine/recorder.ts",
      "const valueForm = /^[\\t\\x20",
      "const valueForm = /^[\\t\\r\\n\\x20",
    ),
  ),
  by(
    "hostile-requests",
    250,
    one(
      "what is unpacked is not bounded",
      "http/content-coding.ts",
      "return await decode(bytes, { maxOutputLength: bytesMax });",
      "return await decode(bytes, { maxOutputLength: Math.max(bytesMax, 2 ** 30) });",
    ),
  ),
  by(
    "content-codings",
    1_000,
    one(
      "a coding is looked up among inherited names",
      "http/content-coding.ts",
      "Object.hasOwn(decoders, coding) ? decoders[coding] : undefined",
      "decoders[coding]",
    ),
  ),
  by(
    "stored-texts",
    2_000,
    one(
      "stored lines are not looked at",
      "stores/encoding.ts",
      "!Array.isArray(lines) || !lines.every(isLine)",
      "!Array.isArray(lines)",
    ),
  ),
  by(
    "inherited-names",
    1_000,
    one(
      "labels are set on a plain object",
      "core/engine/decide.ts",
      "Object.create(null) as Record<string, string>",
      "{} as Record<string, string>",
    ),
  ),
  by(
    "damaged-sqlite",
    3_000,
    one(
      "a kind of answer that nobody wrote is a full one",
      "stores/encoding.ts",
      'if (kind === undefined) throw new TypeError("the stored kind of an answer is damaged");\n  return kind;',
      'return kind ?? "full";',
    ),
  ),
  by(
    "key-flood",
    500,
    one(
      "a caller gets one record more",
      "stores/memory/shelf.ts",
      "caller.records >= recordsShare",
      "caller.records > recordsShare",
    ),
  ),
  by(
    "foreign-keys",
    10,
    one(
      "callers share their keys",
      "core/request/scope.ts",
      'lengthPrefixed(["ichido-scope-1", scope.tenant, scope.principal, hashed])',
      'lengthPrefixed(["ichido-scope-1", scope.tenant, hashed])',
    ),
  ),
  {
    ...by(
      "damaged-redis",
      1_000,
      one(
        "hashes that were cut match every request",
        "stores/redis/statements.generated.ts",
        "if not print or (#print ~= 64 and #print ~= 96) then return { 'damaged' } end",
        "",
      ),
    ),
    needs: "redis",
  },
];

export interface FuzzHunt {
  readonly found: Found | undefined;
  readonly trouble: string;
}

/** A copy of the source in which one rule after the other is undone. */
export function huntingGround(): { hunt(mutant: FuzzMutant): Promise<FuzzHunt>; close(): void } {
  const copy = new Copy(["test/fuzz", "test/support"]);
  return {
    async hunt({ edits, target, within }) {
      const undo = copy.edit(edits);
      try {
        const args = ["--target", target, "--inputs", String(within)];
        const { out, err } = await play(copy.path, "test/fuzz/main.ts", args);
        const match = /^\S+: seed (\d+): (.*)$/m.exec(out);
        if (match === null) return { found: undefined, trouble: err.slice(0, 500) };
        return { found: { seed: Number(match[1]), detail: match[2] ?? "" }, trouble: "" };
      } finally {
        undo();
      }
    },
    close: () => copy.remove(),
  };
}
