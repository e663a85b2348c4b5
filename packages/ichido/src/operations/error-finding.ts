/** What an error of ichido says, as a finding: its words name the cause and, after the last semicolon, what to do. */
import { isIchidoError, type IchidoErrorCode } from "../core/contract/errors.ts";
import { findingOf, type Finding, type FindingCode } from "../core/contract/finding.ts";

const codes: Partial<Record<IchidoErrorCode, FindingCode>> = {
  "access-denied": "rights-missing",
  "schema-missing": "schema-drifted",
  "runtime-unsupported": "runtime-old",
};

export function findingOfError(error: unknown, otherwise: FindingCode): Finding {
  const message = error instanceof Error ? error.message : String(error);
  const at = message.lastIndexOf("; ");
  const [what, remedy] = at < 0 ? [message, ""] : [message.slice(0, at), message.slice(at + 2)];
  const code = (isIchidoError(error) ? codes[error.code] : undefined) ?? otherwise;
  return findingOf(code, what, remedy === "" ? "see what it says; npx ichido doctor looks again" : remedy);
}
