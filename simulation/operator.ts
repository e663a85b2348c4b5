/** A person at the console: looks at what is in doubt, finds out what truly happened, takes a while, and decides. */
import { settle } from "../packages/ichido/src/core/engine/settlement.ts";
import type { Settlement } from "../packages/ichido/src/core/engine/settlement.ts";
import type { Store, StoredRecord } from "../packages/ichido/src/core/contract/store.ts";
import { bodyOf } from "./handler.ts";
import { person } from "./judgement.ts";
import type { Machine } from "./machine.ts";
import type { Provider } from "./provider.ts";
import { idOf, type Run, type Seen, type World } from "./world.ts";

/**
 * Whose claim was granted is about to begin, as long as its own clock allows: where the store's clock has leapt, the lease
 * is over in the store before the grant has arrived.
 */
function mayBegin(world: World, { granted, begun }: Seen, { fence }: StoredRecord): boolean {
  const grant = granted.get(fence);
  if (grant === undefined || !world.hasJumped || begun.has(fence)) return false;
  const { leaseMs, drift } = world.plan;
  return grant.machine.isAlive && world.nowMs - grant.atMs <= leaseMs * (1 + drift);
}

/** What somebody who can see everything would decide; undefined: it cannot be told yet. */
export function rightDecision(
  world: World,
  provider: Provider,
  record: StoredRecord,
): Settlement["decision"] | undefined {
  const id = idOf(record.identity);
  const seen = world.seenOf(record.identity);
  const runs = world.runs.filter((run) => run.id === id && run.fence !== -1);
  const isAtWork = ({ machine, endedMs, branches }: Run): boolean =>
    machine.isAlive && (endedMs === undefined || branches > 0);
  if (runs.some(isAtWork)) return undefined;
  if (mayBegin(world, seen, record)) return undefined;
  // Under a key that was forgotten and used anew there may have been other content.
  const intents = new Set(runs.filter((run) => run.life === seen.life).map((run) => run.intent));
  for (const intent of intents) if (provider.isTravelling(intent)) return undefined;
  const effect = world.effects.find(
    ({ intent, life, kind }) => intents.has(intent) && life === String(seen.life) && kind !== "honours",
  );
  if (effect === undefined) return { kind: "release" };
  const body = JSON.parse(bodyOf(id, effect.intent, { adopted: effect.number })) as unknown;
  return { kind: "adopt", answer: { status: 201, body } };
}

export type Wish = "hold" | "settle";

export async function operate(
  world: World,
  machine: Machine,
  store: Store,
  provider: Provider,
  { thinksMs, wish }: { readonly thinksMs: number; readonly wish: Wish },
): Promise<void> {
  const { records } = await store.list({ state: "unknown", limit: 100 });
  if (records.length === 0) return;
  const record = machine.random.pick(records);
  const decision = wish === "hold" ? ({ kind: "hold" } as const) : rightDecision(world, provider, record);
  if (decision === undefined) return;
  world.note(`${machine.name} decides to ${decision.kind} ${idOf(record.identity)}`);
  await new Promise<void>((resolve) => machine.after(thinksMs, resolve));
  // Somebody who decides must be right about the world. Where another attempt has the record, the store must say so.
  const isSame = world.seenOf(record.identity).record?.fence === record.fence;
  if (isSame && wish === "settle" && rightDecision(world, provider, record)?.kind !== decision.kind) return;
  const { identity, fence } = record;
  const result = await settle(store, { record: identity, decision, actor: person, reason: "looked into it", fence });
  world.note(`${machine.name} settled ${idOf(identity)}: ${result}`);
}
