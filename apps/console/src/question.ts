/** From what was pasted to a question: an amount and a time are taken out of the text, the rest is a name. */
export interface Asked {
  readonly text?: string;
  readonly amount?: string;
  /** ISO 8601. */
  readonly at?: string;
}

/** Between blanks alone: a key may have a day in it. */
const isoTime =
  /(?:^|\s)(\d{4}-\d{2}-\d{2})(?:[T ](\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?)\s?(Z|UTC|[+-]\d{2}:?\d{2})?)?(?=\s|$)/i;
const clockTime = /(?:^|\s)(?:(today|yesterday|今日|昨日)\s*)?(\d{1,2}):(\d{2})(?::(\d{2}))?\s?(Z|UTC)?(?=\s|$)/i;
/** With a currency or two decimals: a bare number is more often the number of an order. */
const money =
  /(?:^|\s)(?:([€$£¥￥])\s?(\d[\d,]*(?:\.\d{1,2})?)|(\d[\d,]*\.\d{2})\s?([A-Z]{3})?|(\d[\d,]*(?:\.\d{1,2})?)\s?([A-Z]{3}|円))(?=\s|$)/;
/** Beside a time, any number is an amount: nothing else is asked with a time. */
const bareNumber = /(?:^|\s)(\d+(?:\.\d+)?)(?=\s|$)/;

const dayMs = 86_400_000;

function isoOf(text: string): { readonly at: string; readonly matched: string } | undefined {
  const found = isoTime.exec(text);
  if (found === null) return undefined;
  const [matched, day = "", time = "12:00", zone = ""] = found;
  const offset = /^(z|utc)$/i.test(zone) ? "Z" : zone;
  const ms = Date.parse(`${day}T${time.padStart(5, "0").replace(/^(\d):/, "0$1:")}${offset}`);
  return Number.isFinite(ms) ? { at: new Date(ms).toISOString(), matched } : undefined;
}

/** The last such time: 14:05 of yesterday, where 14:05 of today is still to come. */
function clockOf(text: string, nowMs: number, isUtc: boolean): { at: string; matched: string } | undefined {
  const found = clockTime.exec(text);
  if (found === null) return undefined;
  const [matched, day = "", hours = "0", minutes = "0", seconds = "0", zone] = found;
  const date = new Date(nowMs);
  if (isUtc || zone !== undefined) date.setUTCHours(Number(hours), Number(minutes), Number(seconds), 0);
  else date.setHours(Number(hours), Number(minutes), Number(seconds), 0);
  const isYesterday = /yesterday|昨日/i.test(day);
  const isAhead = day === "" && date.getTime() > nowMs;
  const ms = date.getTime() - (isYesterday || isAhead ? dayMs : 0);
  return { at: new Date(ms).toISOString(), matched };
}

export function askedOf(input: string, nowMs: number, isUtc: boolean): Asked {
  let text = ` ${input.trim()} `;
  const time = isoOf(text) ?? clockOf(text, nowMs, isUtc);
  if (time !== undefined) text = text.replace(time.matched, " ");
  const found = money.exec(text) ?? (time === undefined ? null : bareNumber.exec(text));
  const amount = found
    ?.slice(1)
    .find((part) => part !== undefined && /^\d/.test(part))
    ?.replaceAll(",", "");
  // An amount is looked for around a time alone; without one the text is left whole.
  if (found !== null && amount !== undefined && time !== undefined) text = text.replace(found[0], " ");
  const name = text.trim().replace(/\s+/g, " ");
  if (time === undefined) return name === "" ? {} : { text: name };
  return {
    ...(name === "" ? {} : { text: name }),
    ...(amount === undefined ? {} : { amount }),
    at: time.at,
  };
}

/** What the field shows of an address; it reads as the same question again. */
export function inputOf({ text, amount, at }: Asked): string {
  return [text, amount, at].filter((part) => part !== undefined && part !== "").join(" ");
}
