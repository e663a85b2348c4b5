/**
 * A scale of time for lanes: true to scale, but that long times in which nothing happened are cut out, and shown as cut.
 * Without that a settlement three hours later would squeeze a run of a second into nothing.
 */
export interface Cut {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Percent. */
  readonly from: number;
  readonly until: number;
}

export interface Tick {
  readonly atMs: number;
  readonly at: number;
}

export interface Scale {
  /** Percent from the left. */
  readonly place: (ms: number) => number;
  readonly cuts: readonly Cut[];
  readonly ticks: readonly Tick[];
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

const cutWidth = 7;
const cutsMax = 4;
/** A gap is cut where it is this part of all the time there is. */
const cutShare = 0.6;
const marginPercent = 1.5;
const steps = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000,
] as const;

/** Times in which something went on, joined where they touch. */
function busy(spans: readonly Span[]): Span[] {
  const joined: { fromMs: number; untilMs: number }[] = [];
  for (const span of spans.toSorted((one, other) => one.fromMs - other.fromMs)) {
    const last = joined.at(-1);
    if (last !== undefined && span.fromMs <= last.untilMs) last.untilMs = Math.max(last.untilMs, span.untilMs);
    else joined.push({ fromMs: span.fromMs, untilMs: Math.max(span.fromMs, span.untilMs) });
  }
  return joined;
}

/** The longest first, as long as one is a large part of what would be left. */
function gapsToCut(parts: readonly Span[]): readonly Span[] {
  const gaps = parts
    .slice(1)
    .map((part, at) => ({ fromMs: parts[at]?.untilMs ?? part.fromMs, untilMs: part.fromMs }))
    .toSorted((one, other) => other.untilMs - other.fromMs - (one.untilMs - one.fromMs));
  let left = (parts.at(-1)?.untilMs ?? 0) - (parts[0]?.fromMs ?? 0);
  const cut: Span[] = [];
  for (const gap of gaps.slice(0, cutsMax)) {
    const size = gap.untilMs - gap.fromMs;
    // A lone gap between two moments is the whole picture: there is nothing to make room for.
    if (parts.length < 3 && left === size) break;
    if (size < left * cutShare || size < 1_000) break;
    cut.push(gap);
    left -= size;
  }
  return cut.toSorted((one, other) => one.fromMs - other.fromMs);
}

export function scaleOf(spans: readonly Span[]): Scale {
  const parts = busy(spans);
  const fromMs = parts[0]?.fromMs ?? 0;
  const untilMs = Math.max(parts.at(-1)?.untilMs ?? 0, fromMs + 1);
  const gaps = gapsToCut(parts);
  const shownMs = Math.max(1, untilMs - fromMs - gaps.reduce((sum, gap) => sum + gap.untilMs - gap.fromMs, 0));
  const perMs = (100 - 2 * marginPercent - gaps.length * cutWidth) / shownMs;
  const place = (ms: number): number => {
    let at = marginPercent;
    let fromHereMs = fromMs;
    for (const gap of gaps) {
      if (ms <= gap.fromMs) break;
      at += (gap.fromMs - fromHereMs) * perMs;
      if (ms < gap.untilMs) return at + (cutWidth * (ms - gap.fromMs)) / (gap.untilMs - gap.fromMs);
      at += cutWidth;
      fromHereMs = gap.untilMs;
    }
    return Math.min(100, Math.max(0, at + (ms - fromHereMs) * perMs));
  };
  const cuts = gaps.map((gap) => ({ ...gap, from: place(gap.fromMs), until: place(gap.fromMs) + cutWidth }));
  return { place, cuts, ticks: ticksOf(fromMs, untilMs, perMs, cuts, place), fromMs, untilMs };
}

const tickApart = 16;

/** Round times, far enough from each other and from cuts to be read. */
function ticksOf(
  fromMs: number,
  untilMs: number,
  perMs: number,
  cuts: readonly Cut[],
  place: (ms: number) => number,
): readonly Tick[] {
  const step = steps.find((each) => each * perMs >= tickApart) ?? 86_400_000;
  const ticks: Tick[] = [];
  let atMs = Math.ceil(fromMs / step) * step;
  while (atMs <= untilMs && ticks.length < 20) {
    const inside = cuts.find((cut) => atMs > cut.fromMs && atMs < cut.untilMs);
    if (inside !== undefined) {
      atMs = Math.ceil(inside.untilMs / step) * step;
      continue;
    }
    const at = place(atMs);
    const isNear = cuts.some((cut) => Math.abs(at - (cut.from + cut.until) / 2) < tickApart * 0.75);
    const last = ticks.at(-1)?.at ?? -tickApart;
    if (!isNear && at - last >= tickApart * 0.9) ticks.push({ atMs, at });
    atMs += step;
  }
  return ticks;
}
