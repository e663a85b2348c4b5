/** What two versions of a program must make of each other's records, undone rule by rule. */
import { one, type Mutant } from "./mutant.ts";

const claim = "core/record-machine/claim.ts";

export const deploys: readonly Mutant[] = [
  one(
    "the reading of the version before is not compared with what is asked",
    claim,
    "    isSameHash(stored.canonical, asked.former) ||\n",
    "",
  ),
  one(
    "the reading of the version before is not compared with what is stored",
    claim,
    "isSameHash(stored.canonical, asked.former) ||\n    isSameHash(stored.former, asked.canonical)",
    "isSameHash(stored.canonical, asked.former)",
  ),
  one("the same bytes, read in another way, are refused", claim, "    isSameHash(stored.raw, asked.raw) ||\n", ""),
  one(
    "references are by one's own reading of the content",
    "core/engine/attempt.ts",
    "referenceOf(this.ask.identity, this.grant.canonical, name);",
    "referenceOf(this.ask.identity, this.ask.fingerprint.canonical, name);",
  ),
  one(
    "whoever takes over is told its own reading of the content",
    "stores/memory/claim.ts",
    "grantOf(row, bytesOf(row.fingerprint.canonical), verdict)",
    "grantOf(row, request.fingerprint.canonical, verdict)",
  ),
  one(
    "a step that was renamed is called again",
    "core/engine/steps.ts",
    "          beware(name, options, steps);\n",
    "          void beware;\n",
  ),
  one(
    "a step that was renamed is called again, unless it is held",
    "core/engine/steps.ts",
    'if (policy !== "rerun") throw new OutcomeOpen(message,',
    'if (policy === "hold") throw new OutcomeOpen(message,',
  ),
];
