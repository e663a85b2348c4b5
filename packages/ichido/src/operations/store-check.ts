/** The store: whether it can be reached, what its server is like, whether a claim would work, and its clock. */
import { isIchidoError } from "../core/contract/errors.ts";
import { findingOf, type Finding } from "../core/contract/finding.ts";
import type { Store, StoreInspection } from "../core/contract/store.ts";
import { systemEnvironment } from "../core/contract/environment.ts";
import type { DoctorParts } from "./doctor-parts.ts";
import { checkDriver, installedVersion } from "./driver-versions.ts";
import { findingOfError } from "./error-finding.ts";
import { checkSchema, isSchema } from "./schema-check.ts";

/** Dates in logs and the age of events come from hosts; beyond this a person is misled by them. */
const clockApartMsMax = 2_000;

async function inspected(
  store: Store,
  wallMs: () => number,
): Promise<(StoreInspection & { readonly apartMs: number }) | undefined> {
  if (store.inspect === undefined) return undefined;
  const beforeMs = wallMs();
  const inspection = await store.inspect();
  const afterMs = wallMs();
  // The store's moment lies somewhere between the two.
  const apartMs = Math.max(0, beforeMs - inspection.nowMs, inspection.nowMs - afterMs);
  return { ...inspection, apartMs };
}

function clockFindings({ server, apartMs }: { readonly server: string; readonly apartMs: number }): Finding[] {
  if (apartMs <= clockApartMsMax) return [];
  const what = `the clocks of this host and of ${server} are ${(apartMs / 1_000).toFixed(1)} s apart`;
  return [findingOf("clock-apart", what, "let both follow the same time service (chrony, systemd-timesyncd)")];
}

/** What `ping` refuses is told once: by the finding that names its cause, where there is one. */
async function claimFindings(store: Store, told: readonly Finding[]): Promise<Finding[]> {
  try {
    await store.ping();
    return [];
  } catch (error) {
    if (told.some(({ severity }) => severity === "error")) return [];
    const finding = findingOfError(error, "store-refuses");
    const isTold = told.some(({ what }) => finding.what.includes(what.split(":")[0] ?? what));
    return isTold && finding.code === "store-refuses" ? [] : [finding];
  }
}

export async function checkStore(parts: DoctorParts): Promise<readonly Finding[]> {
  const { store } = parts.ichido;
  const { wallMs } = parts.environment ?? systemEnvironment;
  let found: Finding[];
  try {
    const seen = await inspected(store, () => wallMs());
    found =
      seen === undefined
        ? []
        : [...seen.findings, ...clockFindings(seen), ...checkDriver(seen.driver, parts.versionOf ?? installedVersion)];
  } catch (error) {
    const code = isIchidoError(error) && error.code === "access-denied" ? "rights-missing" : "store-unreachable";
    return [findingOfError(error, code)];
  }
  if (isSchema(store)) found.push(...(await checkSchema("the store", store)));
  return [...found, ...(await claimFindings(store, found))];
}
