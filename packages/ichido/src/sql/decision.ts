/** A person's decision about a dead letter: it must say who decides and why, for the audit. */
import { IchidoError } from "../core/contract/errors.ts";
import { integerOption } from "../core/contract/option-checks.ts";

export interface Decision {
  /** Who decides, for the audit. */
  readonly actor: string;
  readonly reason: string;
}

export const lettersDefault = 100;
export const lettersMax = 1_000;

export function checkDecision({ actor, reason }: Decision, textMax: number): void {
  for (const [name, text] of Object.entries({ actor, reason })) {
    if (typeof text !== "string" || text === "" || text.length > textMax || text.includes("\0"))
      throw new IchidoError("option-invalid", `${name}: expected a text of 1 to ${textMax} characters, for the audit`);
  }
}

export function checkLetters(limit: unknown): void {
  integerOption("limit", limit, 1, lettersMax);
}
