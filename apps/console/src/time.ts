/** Times as people say them, and exactly. */
import { setting } from "./settings.ts";

const units = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1_000],
] as const;

/** `3 min ago`, `in 2 h`; below a second it is now. */
export function relative(ms: number, nowMs: number, lang: string = setting("lang")): string {
  const apartMs = ms - nowMs;
  const format = new Intl.RelativeTimeFormat(lang, { numeric: "auto", style: "narrow" });
  const [unit, size] = units.find(([, each]) => Math.abs(apartMs) >= each) ?? (["second", 1_000] as const);
  return format.format(Math.trunc(apartMs / size), unit);
}

const names = {
  en: { day: "d", hour: "h", minute: "min", second: "s" },
  ja: { day: "日", hour: "時間", minute: "分", second: "秒" },
} as const;

/** `830 ms`, `1.1 s`, `2 min 5 s`, `3 h`, `12 d` */
export function duration(ms: number, lang: keyof typeof names = setting("lang")): string {
  const { day, hour, minute, second } = names[lang];
  const size = Math.abs(ms);
  if (size < 1_000) return `${Math.round(ms)} ms`;
  if (size < 60_000) return `${(ms / 1_000).toFixed(size < 10_000 ? 1 : 0)} ${second}`;
  const seconds = Math.round(ms / 1_000);
  if (size < 3_600_000) return pair(seconds, 60, minute, 1, second);
  if (size < 86_400_000) return pair(seconds, 3_600, hour, 60, minute);
  return pair(seconds, 86_400, day, 3_600, hour);
}

/** Two units at most; the small one only where it says something. */
function pair(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const whole = Math.trunc(seconds / large);
  const rest = Math.trunc((Math.abs(seconds) % large) / small);
  return rest === 0 || whole >= 10 ? `${whole} ${largeName}` : `${whole} ${largeName} ${rest} ${smallName}`;
}

interface Parts {
  readonly date: string;
  readonly clock: string;
  readonly millis: string;
  readonly zone: string;
}

function partsOf(ms: number, zone: string): Parts {
  const date = new Date(ms);
  const shown = zone === "utc" ? date : new Date(ms - date.getTimezoneOffset() * 60_000);
  const text = shown.toISOString();
  const offset = -date.getTimezoneOffset();
  const sign = offset < 0 ? "−" : "+";
  const hours = String(Math.trunc(Math.abs(offset) / 60)).padStart(2, "0");
  const minutes = String(Math.abs(offset) % 60).padStart(2, "0");
  return {
    date: text.slice(0, 10),
    clock: text.slice(11, 19),
    millis: text.slice(19, 23),
    zone: zone === "utc" ? "UTC" : `UTC${sign}${hours}:${minutes}`,
  };
}

/** `2026-11-18` */
export function dayOf(ms: number, zone: string = setting("zone")): string {
  return partsOf(ms, zone).date;
}

/** `14:05:11`, with the day before it where that is not today. */
export function clock(ms: number, nowMs: number, zone: string = setting("zone")): string {
  const { date, clock: time } = partsOf(ms, zone);
  return date === partsOf(nowMs, zone).date ? time : `${date} ${time}`;
}

/** `14:05:11.204` */
export function fineClock(ms: number, zone: string = setting("zone")): string {
  const { clock: time, millis } = partsOf(ms, zone);
  return `${time}${millis}`;
}

/** `2026-11-18 14:05:11.204 UTC+01:00` */
export function exact(ms: number, zone: string = setting("zone")): string {
  const { date, clock: time, millis, zone: name } = partsOf(ms, zone);
  return `${date} ${time}${millis} ${name}`;
}
