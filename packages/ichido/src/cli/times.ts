/** Times as people type and read them. */
import { UsageError } from "./exit-codes.ts";

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
type Unit = keyof typeof units;

/** `30s`, `15m`, `2h`, `7d`. */
export function durationOf(option: string, text: string): number {
  const [, count, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  if (count !== undefined && unit !== undefined) return Number(count) * units[unit as Unit];
  throw new UsageError(`${option}: expected a time such as 30s, 15m, 2h or 7d, got ${JSON.stringify(text)}`);
}

/** `14:05` of today, or a whole ISO time; in UTC where nothing else is said. */
export function momentOf(option: string, text: string, nowMs = Date.now()): number {
  const today = new Date(nowMs).toISOString().slice(0, 11);
  const whole = /^\d\d:\d\d(:\d\d)?$/.test(text) ? `${today}${text}Z` : text;
  const zoned = /T\d\d:\d\d(:\d\d(\.\d+)?)?$/.test(whole) ? `${whole}Z` : whole;
  const ms = /^\d{4}-\d\d-\d\dT/.test(zoned) ? Date.parse(zoned) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new UsageError(`${option}: expected a time such as 14:05 or 2026-11-18T14:05Z, got ${JSON.stringify(text)}`);
}

/** `850 ms`, `12 s`, `3 m 20 s`, `2 h 5 m`, `4 d`: the greatest units, two of them or as many as are asked for. */
export function shownDuration(ms: number, unitsMax = 2): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < units.s) return `${whole} ms`;
  const parts: string[] = [];
  let rest = whole;
  for (const unit of ["d", "h", "m", "s"] as const) {
    const count = Math.floor(rest / units[unit]);
    rest -= count * units[unit];
    if (count > 0) parts.push(`${count} ${unit}`);
    // Seconds beside days say nothing.
    else if (parts.length > 0) break;
    if (parts.length === unitsMax) break;
  }
  return parts.join(" ");
}

/** UTC to the second: what logs and other people have. */
export function shownTime(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The moment, and how long ago that is. */
export function shownMoment(ms: number, nowMs = Date.now()): string {
  const agoMs = nowMs - ms;
  return `${shownTime(ms)} (${agoMs >= 0 ? `${shownDuration(agoMs)} ago` : `in ${shownDuration(-agoMs)}`})`;
}

export function shownBytes(bytes: number): string {
  const names = ["B", "KiB", "MiB", "GiB", "TiB"];
  const place = Math.min(names.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  return `${place === 0 ? bytes : (bytes / 1024 ** place).toFixed(1)} ${names[place] ?? ""}`;
}

export function wholeNumberOf(option: string, text: string, min: number, max: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new UsageError(`${option}: expected a whole number from ${min} to ${max}, got ${JSON.stringify(text)}`);
}
