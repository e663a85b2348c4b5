/** Bars of requests per second as a ratio to bare, new keys above replays; colours that can be read on light and dark. */
import type { Row } from "./table.ts";
import type { Surroundings } from "./surroundings.ts";

const [labelWidth, barWidth, barHeight, gap, top] = [250, 420, 9, 10, 56] as const;
const mixColours: Readonly<Record<string, string>> = { new: "#3b82f6", replay: "#14b8a6" };

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

export function pictureOf(rows: readonly Row[], around: Surroundings): string {
  const shown = rows.filter(({ mix, bodyBytes }) => mix in mixColours && bodyBytes === rows[0]?.bodyBytes);
  const names = [...new Set(shown.map(({ server }) => server))];
  const most = Math.max(1, ...shown.map(({ ratio }) => ratio.max));
  const x = (ratio: number): number => Math.round(labelWidth + (ratio / most) * barWidth);
  const block = 2 * barHeight + gap;
  const height = top + names.length * block + 40;

  const bars = names.flatMap((name, place) => {
    const y = top + place * block;
    const label = `<text x="${labelWidth - 8}" y="${y + barHeight + 4}" text-anchor="end">${escape(name)}</text>`;
    const ofServer = Object.entries(mixColours).flatMap(([mix, colour], which) => {
      const row = shown.find((each) => each.server === name && each.mix === mix);
      if (row === undefined) return [];
      const [at, { median, min, max }] = [y + which * barHeight, row.ratio];
      return [
        `<rect x="${labelWidth}" y="${at}" width="${x(median) - labelWidth}" height="${barHeight - 1}" fill="${colour}"/>`,
        `<path d="M${x(min)} ${at + 4}H${x(max)}" stroke="#8b8b8b" stroke-width="2"/>`,
        `<text x="${x(max) + 5}" y="${at + 8}" font-size="9">${median.toFixed(2)}</text>`,
      ];
    });
    return [label, ...ofServer];
  });
  const legend = Object.entries(mixColours).map(
    ([mix, colour], which) =>
      `<rect x="${labelWidth + which * 90}" y="34" width="10" height="10" fill="${colour}"/>` +
      `<text x="${labelWidth + 15 + which * 90}" y="43">${mix === "new" ? "new keys" : "replays"}</text>`,
  );
  const bare = `<path d="M${x(1)} ${top - 4}V${height - 36}" stroke="#8b8b8b" stroke-dasharray="3 3"/>`;
  const title = "Requests per second as a ratio to the bare framework";
  const foot = `${around.date}, ${around.machine}, Node ${around.node}; ${around.command}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${labelWidth + barWidth + 60} ${height}" role="img" aria-label="${title}">
<style>text{font:12px system-ui,sans-serif;fill:#24292f}@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>
<text x="8" y="20" font-size="14">${title}</text>
${[...legend, bare, ...bars].join("\n")}
<text x="8" y="${height - 12}" font-size="9">${escape(foot)}</text>
</svg>
`;
}
