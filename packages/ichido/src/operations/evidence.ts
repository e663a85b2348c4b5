/** What is known of one record: from the store, and from the provider where it can be asked. */
import { withDeadline } from "../core/contract/deadline.ts";
import { systemEnvironment } from "../core/contract/environment.ts";
import type { AuditEntry, LoggedAttempt, Resource, SuspectedDuplicate } from "../core/contract/history.ts";
import type { Probe, ProviderEffect } from "../core/contract/options.ts";
import type { Step, Store, StoredRecord } from "../core/contract/store.ts";
import { atOnceMax, inSlices } from "./in-slices.ts";
import { referenceOf } from "../core/request/scope.ts";

export interface ProbeAnswer {
  readonly step: string;
  readonly reference: string;
  readonly effects: readonly ProviderEffect[];
  /** Why the provider could not be asked. */
  readonly problem?: string;
}

export interface Evidence {
  readonly record: StoredRecord;
  readonly attempts: readonly LoggedAttempt[];
  readonly steps: readonly Step[];
  readonly audit: readonly AuditEntry[];
  readonly resources: readonly Resource[];
  readonly twins: readonly SuspectedDuplicate[];
  readonly probes: readonly ProbeAnswer[];
}

const unaskedWords = "the provider could not be asked: ";

/** In words, by step. */
export function unaskedOf(answers: readonly ProbeAnswer[]): readonly string[] {
  return answers.flatMap(({ step, problem }) => (problem === undefined ? [] : [`${unaskedWords}${step}: ${problem}`]));
}

/** Of what is missing in a verdict: somebody could not be asked. */
export function isUnaskedText(text: string): boolean {
  return text.startsWith(unaskedWords);
}

export type Probes = Readonly<Record<string, Probe>>;

const probeMs = 10_000;

async function ask(step: string, probe: Probe, reference: string): Promise<ProbeAnswer> {
  const abort = new AbortController();
  try {
    const effects = await withDeadline(systemEnvironment, probeMs, async () =>
      probe(reference, { signal: abort.signal }),
    );
    return { step, reference, effects };
  } catch (error) {
    return { step, reference, effects: [], problem: error instanceof Error ? error.message : String(error) };
  } finally {
    abort.abort();
  }
}

/** Steps that the record has; where it has none, its handler may have called under a reference all the same. */
async function askProbes(
  { identity, fingerprint }: StoredRecord,
  steps: readonly Step[],
  probes: Probes,
): Promise<readonly ProbeAnswer[]> {
  if (Object.keys(probes).length === 0) return [];
  const names = steps.length > 0 ? steps.map(({ name }) => name) : Object.keys(probes);
  return Promise.all(
    names.map(async (name): Promise<ProbeAnswer> => {
      const probe = Object.hasOwn(probes, name) ? probes[name] : undefined;
      const reference = referenceOf(identity, fingerprint.canonical, name);
      // A step that nobody can be asked about may have done anything.
      if (probe === undefined) return { step: name, reference, effects: [], problem: "it has no probe" };
      return ask(name, probe, reference);
    }),
  );
}

/** What providers say of a record, and no more: for a look at many. */
export async function askRecord(store: Store, record: StoredRecord, probes: Probes): Promise<readonly ProbeAnswer[]> {
  return askProbes(record, await store.steps(record.identity), probes);
}

async function known(store: Store, record: StoredRecord): Promise<Omit<Evidence, "probes">> {
  const { identity } = record;
  const [attempts, steps, audit, resources, twins] = await Promise.all([
    store.attempts(identity),
    store.steps(identity),
    store.audit(identity),
    store.resources(identity),
    store.twins(identity),
  ]);
  return { record, attempts, steps, audit, resources, twins };
}

/** Each record asks the store five times. */
const recordsAtOnce = atOnceMax / 5;

/** The store is asked about a few records at a time, providers about all: one that is down makes everybody wait once. */
export async function gatherAll(store: Store, records: readonly StoredRecord[], probes: Probes): Promise<Evidence[]> {
  const stored = await inSlices(records, recordsAtOnce, (record) => known(store, record));
  return Promise.all(
    stored.map(async (each) => ({ ...each, probes: await askProbes(each.record, each.steps, probes) })),
  );
}

export async function gather(store: Store, record: StoredRecord, probes: Probes): Promise<Evidence> {
  const [evidence] = await gatherAll(store, [record], probes);
  return evidence as Evidence;
}
