/** What a person asks outbox and inbox to forget, and what became of it. */
import { knownOptions, optionInvalid, type OptionNames } from "../core/contract/option-checks.ts";
import { checkDecision, type Decision } from "./decision.ts";

export interface EventForgetting extends Decision {
  /** What a customer is called in events: an id, an address. At least one, none empty. */
  readonly values: readonly string[];
  /** Counts, and changes nothing. */
  readonly dryRun?: boolean;
}

export interface ForgottenEvents {
  /** Dead letters that were erased, or would be. */
  readonly letters: number;
  /** Keys of sent events and reasons of decisions that were emptied. */
  readonly emptied: number;
  /** Events that wait to be sent or processed: they are left alone. Ask again when they have gone. */
  readonly waiting: number;
  /** There were more than could be looked at. */
  readonly isCut: boolean;
}

const names: OptionNames<EventForgetting> = { values: true, dryRun: true, actor: true, reason: true };

/** The reason stays in the audit: it must not say what is to be forgotten. */
export function checkForgetting(what: string, request: EventForgetting, textMax: number): void {
  knownOptions(what, request, names);
  checkDecision(request, textMax);
  const { values, actor, reason } = request;
  if (!Array.isArray(values) || values.length === 0 || !values.every((each) => typeof each === "string" && each !== ""))
    throw optionInvalid("values", "texts to look for", values);
  if (values.some((value) => reason.includes(value) || actor.includes(value)))
    throw optionInvalid("reason", "a text that does not name what is to be forgotten", "one that does");
}

/** Looked at in one call. */
const rowsMax = 200_000;

/** Counts rows that match, page by page. */
export async function matching<Row>(
  page: (after: number) => Promise<readonly Row[]>,
  placeOf: (row: Row) => number,
  isMeant: (row: Row) => boolean,
): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }> {
  const rows: Row[] = [];
  let after = 0;
  for (let seen = 0; seen < rowsMax;) {
    const found = await page(after);
    const last = found.at(-1);
    if (last === undefined) return { rows, isCut: false };
    seen += found.length;
    after = placeOf(last);
    rows.push(...found.filter(isMeant));
  }
  return { rows, isCut: true };
}
