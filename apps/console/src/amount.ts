/** Numbers as people read them. */
const sizes = ["B", "kB", "MB", "GB", "TB"] as const;

/** `1.2 MB`: thousands, as disks are sold and metrics count. */
export function bytes(count: number): string {
  let size = count;
  let at = 0;
  while (Math.abs(size) >= 999.5 && at < sizes.length - 1) {
    size /= 1_000;
    at += 1;
  }
  return `${at === 0 || Math.abs(size) >= 99.5 ? Math.round(size) : size.toFixed(1)} ${sizes[at] ?? ""}`;
}

/** `1 204 331`: a thin space reads the same in every language. */
export function count(value: number): string {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}
