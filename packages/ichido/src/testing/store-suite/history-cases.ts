/**
 * Long random histories, run on the store and on the reference model (the memory store) side by side: every answer must
 * be the same, and so must everything that can be read at the end. They find what no single case covers.
 */
import assert from "node:assert/strict";
import type { Identity, OwnerToken } from "../../core/contract/record.ts";
import type { ClaimResult, Store, Takeover } from "../../core/contract/store.ts";
import { memoryStore } from "../../stores/memory/index.ts";
import { fakeClock, type FakeClock } from "../clock.ts";
import { defineCases } from "./case.ts";
import { plain, type Rig } from "./rig.ts";
import { sampleFingerprint, sampleIdentity, sampleOwner, sampleResponse } from "./samples.ts";

/** Sums of these never equal a lease, a retention or a tick gap exactly, so a slightly moved clock decides nothing. */
const passesMs = [7_000, 41_000] as const;
const leasesMs = [10_000, 30_000] as const;
const retentionMs = 60_000;
const intervalMs = 15_000;

interface Side {
  readonly store: Store;
  /** The fences that this side gave, by identity and owner: fences differ between the sides, their order does not. */
  readonly fences: Map<string, number>;
}

type Pick = <Item>(items: readonly Item[]) => Item;
type Verb = (pick: Pick, identity: Identity, owner: OwnerToken) => (side: Side) => Promise<unknown>;

const slot = (identity: Identity, owner: OwnerToken): string => `${identity.key}/${owner}`;
const fenceOf = (side: Side, identity: Identity, owner: OwnerToken): number =>
  side.fences.get(slot(identity, owner)) ?? 1;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Every verb with arguments drawn at random; `complete` with a fence that the side itself gave. */
const verbs: Readonly<Record<string, Verb>> = {
  claim(pick, identity, owner) {
    const fingerprint = sampleFingerprint(pick(["same", "same", "same", "same", "other"]));
    const takeover = pick<Takeover>(["none", "lapsed", "open"]);
    const leaseMs = pick(leasesMs);
    const doubtStays = pick([false, false, true]);
    const terms = { fingerprint, takeover, leaseMs, retentionMs, doubtStays };
    return async (side) => {
      const result = await side.store.claim({ identity, owner, ...terms });
      if (result.outcome === "granted") side.fences.set(slot(identity, owner), result.fence);
      return timeless(result);
    };
  },
  renew(pick, identity, owner) {
    const leaseMs = pick(leasesMs);
    return async (side) => {
      // Whether a renewal revives a lease that its owner ended is not promised.
      if (((await side.store.find(identity))?.leaseLeftMs ?? 1) <= 0) return "lapsed";
      return side.store.renew([{ identity, owner, fence: fenceOf(side, identity, owner), leaseMs }]);
    };
  },
  complete(pick, identity, owner) {
    const response = sampleResponse({ body: pick(["one", "two", "three"]), kind: pick(["full", "tombstone"]) });
    return (side) => side.store.complete({ identity, owner, fence: fenceOf(side, identity, owner), response });
  },
  release: (_pick, identity, owner) => async (side) => {
    // Whether an owner that releases twice gets `ok` or `stale` is not promised; nothing changes either way.
    if ((await side.store.find(identity))?.state === "failed") return "failed";
    return side.store.release({ identity, owner, fence: fenceOf(side, identity, owner) });
  },
  suspend(pick, identity, owner) {
    const interim = pick([undefined, undefined, sampleResponse({ status: 202, body: "wait" })]);
    // Rarely: only a person ends a hold, and a history of held records proves little.
    const holdReason = pick([undefined, undefined, undefined, undefined, "ask the bank"]);
    const parts = {
      ...(interim === undefined ? {} : { interim }),
      ...(holdReason === undefined ? {} : { holdReason }),
    };
    return (side) => side.store.suspend({ identity, owner, fence: fenceOf(side, identity, owner), ...parts });
  },
  startStep(pick, identity, owner) {
    const step = { name: pick(["reserve", "charge"]), leaseMs: pick(leasesMs) };
    return (side) => side.store.startStep({ identity, owner, fence: fenceOf(side, identity, owner), ...step });
  },
  finishStep(pick, identity, owner) {
    const step = { name: pick(["reserve", "charge"]), leaseMs: pick(leasesMs), result: bytes(pick(["r1", "r2"])) };
    return async (side) => {
      // Only a step that was started can be finished; what a store does with any other is not promised.
      const started = (await side.store.steps(identity)).some((each) => each.name === step.name);
      if (!started) return "not started";
      return side.store.finishStep({ identity, owner, fence: fenceOf(side, identity, owner), ...step });
    };
  },
  settle(pick, identity, owner) {
    const response = sampleResponse({ body: "found" });
    const decision = pick([{ kind: "adopt", response }, { kind: "release" }, { kind: "hold" }] as const);
    const policy = pick([{}, { unlessHeld: true }] as const);
    return async (side) => {
      const record = await side.store.find(identity);
      // A failed record is free already; what holding or adopting it means is not promised.
      if (record?.state === "failed") return "failed";
      const fence = fenceOf(side, identity, owner);
      if (record?.state === "completed" && record.fence !== fence) return "completed or stale";
      return side.store.settle({ identity, fence, decision, actor: "on-call", reason: "asked", ...policy });
    };
  },
};
const names = ["claim", "claim", "claim", "claim", "startStep", "finishStep", ...Object.keys(verbs)];

function timeless(result: ClaimResult): unknown {
  const kept: Record<string, unknown> = { ...result };
  for (const name of ["fence", "createdAtMs", "expiresAtMs", "expiresInMs", "leaseLeftMs"]) delete kept[name];
  return plain(kept);
}

/** Everything that can be read of an identity, without times and fences. */
async function readOut(store: Store, identity: Identity): Promise<unknown> {
  const record = await store.find(identity);
  if (record === undefined) return undefined;
  const {
    fence: _fence,
    leaseLeftMs: _left,
    createdAtMs: _created,
    updatedAtMs: _updated,
    expiresAtMs: _expires,
    ...rest
  } = record;
  // After a settlement the record has no owner; which token a store then keeps is not promised.
  const { owner: _owner, ...kept } = rest;
  const steps = (await store.steps(identity)).map(({ name, state, attempt, result }) => ({
    name,
    state,
    attempt,
    result,
  }));
  return plain({ ...kept, steps });
}

function pickerOf(seed: number): Pick {
  const { environment } = fakeClock({ seed });
  return (items) => {
    const [high = 0, low = 0] = environment.randomBytes(2);
    const item = items[(high * 256 + low) % items.length];
    return item as (typeof items)[number];
  };
}

/** The model lives as long as the store, because ticks do. */
interface Reference {
  readonly store: Store;
  readonly clock: FakeClock;
}

/** Returns what happened: the caller must recognise a history in which too little happened to prove anything. */
async function live(rig: Rig, seed: number, reference: Reference): Promise<readonly string[]> {
  const { clock } = reference;
  const pick = pickerOf(seed);
  const model: Side = { store: reference.store, fences: new Map() };
  const sides = [{ store: rig.store, fences: new Map() }, model] as const;
  const identities = ["one", "two", "three", "four", "five"].map((key) => sampleIdentity(`${key}-${seed}`));
  const owners = ["a", "b", "c"].map((name) => sampleOwner(`${name}-${seed}`));
  const holders = new Map<Identity, OwnerToken>();
  const told: string[] = [];
  const met: string[] = [];

  for (let index = 0; index < verbsTotal; index += 1) {
    const passMs = rig.clock === undefined ? 0 : pick([0, 0, 0, ...passesMs]);
    if (passMs > 0) {
      await rig.clock?.advanceMs(passMs);
      clock.stepWall(passMs);
      const ticks = pick([true, true, false]);
      if (ticks) for (const side of sides) await side.store.tick({ intervalMs });
      told.push(`${passMs} ms pass${ticks ? ", tick" : ""}`);
    }
    const name = pick(names);
    const identity = pick(identities);
    const anyone = pick(owners);
    // Owners without the record are refused whatever they try; a history of refusals proves little.
    const owner =
      name === "claim" ? anyone : pick([holders.get(identity) ?? anyone, holders.get(identity) ?? anyone, anyone]);
    const use = (verbs[name] ?? assert.fail())(pick, identity, owner);
    const [answer, expected] = [await use(sides[0]), await use(model)];
    const outcome = outcomeOf(expected);
    if (outcome.startsWith("granted")) holders.set(identity, owner);
    met.push(`${name} ${outcome}`);
    told.push(`${name} ${identity.key} by ${owner.slice(0, 4)}: ${JSON.stringify(plain(expected))}`);
    const history = `seed ${seed}, after:\n${told.slice(-25).join("\n")}`;
    assert.deepEqual(plain(answer), plain(expected), history);
    assert.deepEqual(await readOut(rig.store, identity), await readOut(model.store, identity), history);
  }
  return met;
}

function outcomeOf(answer: unknown): string {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return String(answer);
  const { outcome, origin, resent } = answer as Readonly<Record<string, string | undefined>>;
  if (origin === undefined) return String(outcome);
  return resent === undefined ? `${outcome} ${origin}` : `${outcome} again`;
}

const historiesUsual = 8;
const verbsTotal = 100;

const allHistoriesMeet = [
  ...["new", "again", "failed", "lapsed", "suspended"].map((origin) => `claim granted ${origin}`),
  ...["processing", "completed", "unknown", "mismatch"].map((outcome) => `claim ${outcome}`),
  ...["renew", "complete", "release", "suspend", "startStep", "finishStep"].flatMap((verb) => [
    `${verb} ok`,
    `${verb} stale`,
  ]),
  ...["ok", "stale", "live"].map((result) => `settle ${result}`),
];

async function liveAll(rig: Rig): Promise<void> {
  const clock = fakeClock();
  const reference = { store: memoryStore({ nowMs: clock.nowMs }), clock };
  const met = new Set<string>();
  const { histories = historiesUsual } = rig;
  for (let seed = 1; seed <= histories; seed += 1) {
    for (const each of await live(rig, seed, reference)) met.add(each);
  }
  if (histories < historiesUsual) return;
  assert.deepEqual(
    allHistoriesMeet.filter((each) => !met.has(each)),
    [],
    "the histories meet every answer",
  );
}

/** Where the clock can be moved, leases lapse and answers expire on the way. */
export const historyCases = defineCases({
  "S5-history: S8 random histories of all verbs give the same answers and records as the reference model": liveAll,
});
