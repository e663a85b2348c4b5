/** What happens to which payment of a storm: a schedule that the seed alone decides, the same for both lanes. */
import { bankModes, killPoints, type BankMode, type KillPoint } from "./contract.ts";
import { randomFrom } from "./random.ts";

export type Blow =
  | { readonly kind: "none" | "double-click" | "cut-before-arrival" | "cut-after-answer" | "database-drop" }
  | { readonly kind: "kill"; readonly point: KillPoint };

/** In percent of the payments; what is left goes well. */
export interface FaultMix {
  readonly kill: number;
  readonly cutAfterAnswer: number;
  readonly cutBeforeArrival: number;
  readonly doubleClick: number;
  /** Needs a database server. */
  readonly databaseDrop: number;
}

export interface StormOrder {
  readonly payments: number;
  readonly concurrency: number;
  readonly seed: number;
  readonly bankMode: BankMode;
  readonly mix: FaultMix;
}

export function planOf({ payments, seed, mix }: StormOrder): readonly Blow[] {
  const random = randomFrom(seed);
  return Array.from({ length: payments }, (): Blow => {
    const drawn = random() * 100;
    const point = killPoints[Math.floor(random() * killPoints.length)] ?? "after-charge";
    let until = 0;
    const isNow = (percent: number): boolean => drawn < (until += percent);
    if (isNow(mix.kill)) return { kind: "kill", point };
    if (isNow(mix.cutAfterAnswer)) return { kind: "cut-after-answer" };
    if (isNow(mix.cutBeforeArrival)) return { kind: "cut-before-arrival" };
    if (isNow(mix.doubleClick)) return { kind: "double-click" };
    return { kind: isNow(mix.databaseDrop) ? "database-drop" : "none" };
  });
}

/** What the page offers; asked by hand, any number up to the last of them. */
export const paymentsOffered = [50, 500, 5_000] as const;
export const PAYMENTS_MAX = 5_000;
export const CONCURRENCY_MAX = 16;
export const SEED_MAX = 4_294_967_295;
/** Each kill costs a restart: more than this and a storm does nothing but start processes. */
export const KILL_PERCENT_MAX = 30;

export const mixNames = ["kill", "cutAfterAnswer", "cutBeforeArrival", "doubleClick", "databaseDrop"] as const;

/** The order, or what is wrong with it. `noServer`: why there are no connections to end. */
export function checkStorm(body: unknown, noServer: string | undefined): StormOrder | string {
  const given = (body ?? {}) as Partial<Record<keyof StormOrder, unknown>>;
  const { payments, concurrency, seed, mix, bankMode = "dedupes" } = given;
  if (!isWhole(payments, 1, PAYMENTS_MAX)) return `payments must be a whole number from 1 to ${PAYMENTS_MAX}`;
  if (!isWhole(concurrency, 1, CONCURRENCY_MAX))
    return `concurrency must be a whole number from 1 to ${CONCURRENCY_MAX}`;
  if (!isWhole(seed, 0, SEED_MAX)) return `seed must be a whole number from 0 to ${SEED_MAX}`;
  const mode = bankModes.find((each) => each === bankMode);
  if (mode === undefined) return `bankMode must be one of ${bankModes.join(", ")}`;
  const checked = checkMix((mix ?? {}) as Partial<Record<keyof FaultMix, unknown>>, noServer);
  return typeof checked === "string" ? checked : { payments, concurrency, seed, bankMode: mode, mix: checked };
}

function isWhole(value: unknown, min: number, max: number): value is number {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

function checkMix(given: Partial<Record<keyof FaultMix, unknown>>, noServer: string | undefined): FaultMix | string {
  const { kill, cutAfterAnswer, cutBeforeArrival, doubleClick, databaseDrop = 0 } = given;
  const mix = { kill, cutAfterAnswer, cutBeforeArrival, doubleClick, databaseDrop } as FaultMix;
  if (mixNames.some((name) => !isWhole(mix[name], 0, 100))) return `mix has percentages: ${mixNames.join(", ")}`;
  if (mix.kill > KILL_PERCENT_MAX) return `mix.kill must be from 0 to ${KILL_PERCENT_MAX}`;
  if (mixNames.reduce((sum, name) => sum + mix[name], 0) > 100) return "the mix is more than 100 percent";
  return mix.databaseDrop > 0 && noServer !== undefined ? noServer : mix;
}
