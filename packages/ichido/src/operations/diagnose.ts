/** `doctor`: what is wrong with a set-up, and what to do about it. Reads and asks; changes nothing. */
import type { Finding } from "../core/contract/finding.ts";
import { knownOptions, type OptionNames } from "../core/contract/option-checks.ts";
import { requireRuntime } from "../core/contract/runtime.ts";
import type { DoctorParts } from "./doctor-parts.ts";
import { checkEngines, liveNotes } from "./engines-check.ts";
import { findingOfError } from "./error-finding.ts";
import { checkPreflight } from "./preflight-check.ts";
import { checkRetention } from "./retention-check.ts";
import { checkSchema } from "./schema-check.ts";
import { checkStore } from "./store-check.ts";

const partNames: OptionNames<DoctorParts> = {
  ichido: true,
  outbox: true,
  inbox: true,
  subscriptions: true,
  clientTimeoutMs: true,
  preflights: true,
  environment: true,
  versionOf: true,
};

function runtimeFindings(): Finding[] {
  try {
    requireRuntime();
    return [];
  } catch (error) {
    return [findingOfError(error, "runtime-old")];
  }
}

/** Where something of the store is known to be wrong, it is no news that it cannot be read. */
async function storedFindings(parts: DoctorParts, isBroken: boolean): Promise<readonly Finding[]> {
  try {
    const notes = await liveNotes(parts.ichido.store);
    return [...checkEngines(notes, parts), ...(await checkRetention(parts, notes))];
  } catch (error) {
    return isBroken ? [] : [findingOfError(error, "store-refuses")];
  }
}

function distinct(found: readonly Finding[]): readonly Finding[] {
  const seen = new Set<string>();
  return found.filter(({ code, what }) => {
    const mark = `${code} ${what}`;
    return !seen.has(mark) && seen.add(mark);
  });
}

/** None: everything that was looked at is right. Errors come first. */
export async function diagnose(parts: DoctorParts): Promise<readonly Finding[]> {
  knownOptions("diagnose", parts, partNames);
  const found: Finding[] = [...runtimeFindings(), ...(await checkStore(parts))];
  const { inbox, outbox, preflights = [] } = parts;
  if (outbox !== undefined) found.push(...(await checkSchema("the outbox", outbox)));
  if (inbox !== undefined) found.push(...(await checkSchema("the inbox", inbox)));
  const isBroken = found.some(({ severity }) => severity === "error");
  found.push(...(await storedFindings(parts, isBroken)));
  for (const preflight of preflights) found.push(...(await checkPreflight(preflight)));
  const [errors, others] = [true, false].map((wanted) =>
    found.filter((each) => (each.severity === "error") === wanted),
  );
  return distinct([...(errors ?? []), ...(others ?? [])]);
}
