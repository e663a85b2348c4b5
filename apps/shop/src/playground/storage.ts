/** What protection takes on disk: counted in the lanes' databases, and reckoned on from that for a rate and a retention. */
import { lanes, type GrowthSample, type LaneName } from "./contract.ts";
import { forecastOf, grownBetween, KEYS_MIN, type Forecast, type Grown } from "./forecast.ts";
import { COUNT_KEYS, COUNT_PAYMENTS } from "./growth.ts";
import type { World } from "./playground.ts";

export interface LaneStorage {
  readonly payments: number;
  readonly bytes: number;
  readonly askPayments: string;
  readonly askBytes: string;
}

export interface StorageView {
  readonly lanes: Readonly<Record<LaneName, LaneStorage>>;
  readonly keys: number;
  readonly askKeys: string;
  /** What a key adds to the protected lane's file beyond what a payment takes without one. Absent: too few were made. */
  readonly bytesPerKey?: number;
  readonly keysMin: number;
  /** Since the playground started. */
  readonly growth: readonly GrowthSample[];
  /** In days. */
  readonly retention: number;
  /** What was measured: of the last storm, where there was one, and since the playground started. */
  readonly rates: { readonly storm?: Grown; readonly run: Grown };
  /** What keys would take at these rates, and at the one that somebody asked about. */
  readonly forecasts: { readonly storm?: Forecast; readonly run?: Forecast; readonly asked?: Forecast };
}

export interface StorageAsked {
  readonly days: number;
  /** Somebody's own rate. */
  readonly perDay: number | undefined;
}

export async function storageOf(world: World, asked: StorageAsked, storm: Grown | undefined): Promise<StorageView> {
  const { data, growth } = world;
  const now = await growth.sample();
  const { keys, lanes: counted } = now;
  const told = lanes.map((lane): readonly [LaneName, LaneStorage] => [
    lane,
    {
      ...counted[lane],
      askPayments: data.ask(lane, COUNT_PAYMENTS),
      askBytes: data.ask(lane, data.askBytes),
    },
  ]);
  const byLane = Object.fromEntries(told) as Record<LaneName, LaneStorage>;
  const bytesPerKey = perKey(world, byLane, keys);
  const run = grownBetween(growth.samples[0] ?? now, now);
  return {
    lanes: byLane,
    keys,
    askKeys: data.ask("protected", COUNT_KEYS),
    keysMin: KEYS_MIN,
    growth: growth.samples,
    ...(bytesPerKey === undefined ? {} : { bytesPerKey }),
    retention: asked.days,
    rates: { run, ...(storm === undefined ? {} : { storm }) },
    forecasts: forecastsOf({ run, storm }, bytesPerKey, asked),
  };
}

function forecastsOf(
  { run, storm }: { readonly run: Grown; readonly storm: Grown | undefined },
  bytesPerKey: number | undefined,
  { days, perDay }: StorageAsked,
): StorageView["forecasts"] {
  const ofRun = forecastOf(run, bytesPerKey, days);
  const ofStorm = forecastOf(storm, bytesPerKey, days);
  return {
    ...(ofRun === undefined ? {} : { run: ofRun }),
    ...(ofStorm === undefined ? {} : { storm: ofStorm }),
    ...(perDay === undefined || bytesPerKey === undefined
      ? {}
      : { asked: { keysPerDay: perDay, bytes: perDay * days * bytesPerKey } }),
  };
}

/** Growth since the start: what an empty file has is not the keys'. */
function perKey({ bytesAtStart }: World, byLane: Record<LaneName, LaneStorage>, keys: number): number | undefined {
  const { unprotected, protected: kept } = byLane;
  if (keys < KEYS_MIN || unprotected.payments < KEYS_MIN) return undefined;
  const plain = (unprotected.bytes - bytesAtStart.unprotected) / unprotected.payments;
  const whole = (kept.bytes - bytesAtStart.protected) / keys;
  return Math.max(0, Math.round(whole - plain));
}
