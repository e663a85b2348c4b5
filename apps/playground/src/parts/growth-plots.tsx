/** Keys and bytes since the playground started, lane beside lane. */
import type { JSX } from "preact";
import { bytes } from "../../../console/src/amount.ts";
import { lanes, type GrowthSample } from "../../../shop/src/playground/contract.ts";
import { words } from "../i18n/words.ts";
import { SecondsPlot } from "./seconds-plot.tsx";

const inks = { unprotected: 3, protected: 0 } as const;

export function GrowthPlots({ samples }: { readonly samples: readonly GrowthSample[] }): JSX.Element {
  const { growth, growthLead, growthRows, growthBytes, atEnd, keys, payments } = words().storage;
  const firstMs = samples[0]?.atMs ?? 0;
  const atMs = samples.map((sample) => sample.atMs - firstMs);
  const rows = lanes.map((lane) => ({
    name: `${words().lanes[lane]}: ${payments}`,
    ink: inks[lane],
    values: samples.map((sample) => sample.lanes[lane].payments),
  }));
  const sizes = lanes.map((lane) => ({
    name: words().lanes[lane],
    ink: inks[lane],
    values: samples.map((sample) => sample.lanes[lane].bytes),
  }));
  return (
    <section class="card" aria-label={growth} data-growth={samples.length}>
      <header>
        <h2>{growth}</h2>
        <span class="muted small">{`${growthLead}, ${words().countedBy.database}`}</span>
      </header>
      <div class="two plots">
        <SecondsPlot
          label={growthRows}
          toldOf={atEnd}
          atMs={atMs}
          series={[...rows, { name: keys, ink: 4, isDashed: true, values: samples.map((sample) => sample.keys) }]}
        />
        <SecondsPlot label={growthBytes} toldOf={atEnd} atMs={atMs} series={sizes} format={bytes} />
      </div>
    </section>
  );
}
