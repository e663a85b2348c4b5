/**
 * Claims whose answer never came. Each may have been granted, now or when the network lets it through, without
 * its sender knowing: nothing runs, and still the key would be locked for a lease, and under `hold` until a person
 * decides. So the record is looked at for about a minute, or longer where many keys wait, and given back where
 * it is found to be ours.
 */
import { doubledMs, upperHalfOf } from "../contract/jitter.ts";
import { limits } from "../contract/defaults.ts";
import type { Environment, Timer } from "../contract/environment.ts";
import type { Identity, OwnerToken } from "../contract/record.ts";
import { goesBackAs, isLeftBy } from "../record-machine/seen.ts";
import { localIdOf } from "../request/scope.ts";
import type { Claim, ClaimOrigin, StoredRecord } from "../contract/store.ts";

export interface LostClaims {
  /** `ranUnder`: a handler ran under that fence, which has ended. */
  add(claim: Pick<Claim, "identity" | "owner">, ranUnder?: number): void;
  /** Gives back what this process lost of an identity, before anybody claims it. Rejects where the store still fails. */
  look(identity: Identity): Promise<void> | undefined;
  /** A last look at every key, before the process goes. Where the store fails, that is all. */
  lookAtAll(): Promise<void>;
  stop(): void;
}

export interface LostClaimsParts {
  readonly environment: Environment;
  readonly find: (identity: Identity) => Promise<StoredRecord | undefined>;
  /** How the claim came by the record decides how it goes. */
  readonly giveBack: (claim: Claim, origin: ClaimOrigin) => Promise<void>;
}

interface Lost {
  readonly identity: Identity;
  /** Every claim has an owner of its own; with the fence under which it ran, or 0. */
  readonly owners: Map<OwnerToken, number>;
  looks: number;
  looking: Promise<void> | undefined;
  timer: Timer | undefined;
}

const looksMax = 10;
const pauseMsFirst = 100;
/** Keys that are looked at by themselves at one time: a store in trouble, and its connections, are there for callers. */
const looksAtOnceMax = 4;

/** Ends early where `left` does: nothing is looked for after `stop`. */
async function lookAtEach(left: MapIterator<Lost>, look: (one: Lost) => Promise<void>): Promise<void> {
  const lookOn = async (): Promise<void> => {
    for (const one of left) await look(one).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: looksAtOnceMax }, lookOn));
}

export function createLostClaims({ environment, find, giveBack }: LostClaimsParts): LostClaims {
  const lost = new Map<string, Lost>();
  /** Of all keys together. */
  let claims = 0;
  /** Their pause is over. */
  const due = new Set<Lost>();
  let underWay = 0;
  let stopped = false;

  async function lookOnce({ identity, owners }: Lost): Promise<void> {
    const record = await find(identity);
    if (stopped || record === undefined || !isLeftBy(record, owners)) return;
    const { owner, fence } = record;
    await giveBack({ identity, owner, fence }, goesBackAs(record, owners.get(owner)));
  }

  function lookNow(one: Lost): Promise<void> {
    one.looking ??= lookOnce(one).finally(() => void (one.looking = undefined));
    return one.looking;
  }

  function lookLater(one: Lost): void {
    one.timer?.cancel();
    const id = localIdOf(one.identity);
    if (lost.get(id) !== one) return;
    if (one.looks >= looksMax) {
      lost.delete(id);
      claims -= one.owners.size;
      return;
    }
    const pauseMs = upperHalfOf(environment, doubledMs(pauseMsFirst, one.looks + 1));
    one.looks += 1;
    one.timer = environment.after(pauseMs, () => {
      due.add(one);
      lookAtDue();
    });
  }

  function lookAtDue(): void {
    for (const one of due) {
      if (underWay >= looksAtOnceMax) return;
      due.delete(one);
      underWay += 1;
      void lookNow(one)
        .catch(() => undefined)
        .then(() => {
          underWay -= 1;
          lookLater(one);
          lookAtDue();
        });
    }
  }

  /** Where there is no room, a key that many ask for gives up its oldest claim, and another key gets none. */
  function hasRoom(one: Lost | undefined): boolean {
    if (claims < limits.lateWritesMax) return true;
    const [oldest] = one?.owners.keys() ?? [];
    if (one === undefined || oldest === undefined) return false;
    one.owners.delete(oldest);
    claims -= 1;
    return true;
  }

  return {
    add({ identity, owner }, ranUnder = 0) {
      const id = localIdOf(identity);
      const known = lost.get(id);
      if (stopped || !hasRoom(known)) return;
      const one: Lost = known ?? { identity, owners: new Map(), looks: 0, looking: undefined, timer: undefined };
      lost.set(id, one);
      if (!one.owners.has(owner)) {
        claims += 1;
        one.owners.set(owner, ranUnder);
      }
      one.looks = 0;
      lookLater(one);
    },
    look(identity) {
      const one = lost.size === 0 ? undefined : lost.get(localIdOf(identity));
      return one === undefined ? undefined : lookNow(one);
    },
    lookAtAll: () => lookAtEach(lost.values(), lookNow),
    stop() {
      stopped = true;
      for (const { timer } of lost.values()) timer?.cancel();
      lost.clear();
      due.clear();
    },
  };
}
