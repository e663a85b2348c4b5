const dayMs = 86_400_000;
const hourMs = 3_600_000;
const minuteMs = 60_000;

/** ISO 8601, in the largest units that keep it exact: P1D, PT1H30M, PT2.5S. */
export function isoDuration(milliseconds: number): string {
  const days = Math.floor(milliseconds / dayMs);
  const hours = Math.floor((milliseconds % dayMs) / hourMs);
  const minutes = Math.floor((milliseconds % hourMs) / minuteMs);
  const seconds = (milliseconds % minuteMs) / 1000;
  const time = `${hours > 0 ? `${hours}H` : ""}${minutes > 0 ? `${minutes}M` : ""}${seconds > 0 ? `${seconds}S` : ""}`;
  if (days === 0 && time === "") return "PT0S";
  return `P${days > 0 ? `${days}D` : ""}${time === "" ? "" : `T${time}`}`;
}
