/** One kind of harm. */
import type { Backend } from "../backends/backend.ts";
import type { Child } from "../../packages/ichido/src/testing/child.ts";
import type { FaultProxy } from "../../packages/ichido/src/testing/fault-proxy.ts";
import type { Random } from "../../simulation/random.ts";
import type { Banks } from "../banks.ts";

/** As much of a process's place as whoever harms it needs. */
export interface Victim {
  readonly proxy: FaultProxy | undefined;
  readonly child: Child | undefined;
  readonly underWay: number;
  /** It is never killed. */
  readonly isVeteran: boolean;
  isStruck: boolean;
  isEnding: boolean;
}

export interface Scene {
  readonly fleet: { readonly ready: readonly Victim[]; readonly berths: readonly Victim[] };
  readonly backend: Backend;
  readonly banks: Banks;
  readonly random: Random;
  /** The names of the kinds that strike; absent: all. */
  readonly only?: readonly string[] | undefined;
  /** What callers ask for from now on. */
  readonly orders: { paddingBytes: number };
  /** How many times as long as usual it is from one fault of a kind to the next. */
  readonly pace: number;
}

export interface Fault {
  readonly name: string;
  /** How often it strikes, about. */
  readonly everyMs: number;
  /** What it needs for itself while it lasts: two that share it do not strike at once. */
  readonly needs?: "store" | "broker";
  /** Tells whether it did harm: a call was under way, and met it. */
  strike(scene: Scene): Promise<boolean>;
}

/** A server at work that nothing else is done to; as long as another one is left. */
export function victimIn({ fleet, random }: Scene, isMortal = false): Victim | undefined {
  const sound = fleet.ready.filter(({ isStruck }) => !isStruck);
  const busy = sound.filter(({ underWay, isVeteran }) => underWay > 0 && !(isMortal && isVeteran));
  return sound.length < 2 || busy.length === 0 ? undefined : random.pick(busy);
}

/** While it is struck nothing else is done to its process. */
export async function whileStruck(berth: Victim, work: () => Promise<void>): Promise<void> {
  berth.isStruck = true;
  try {
    await work();
  } finally {
    berth.isStruck = false;
  }
}
