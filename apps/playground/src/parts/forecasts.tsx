/** What keys would take at the rates that were measured here. Where nothing was measured, that is said. */
import type { JSX } from "preact";
import { bytes, count } from "../../../console/src/amount.ts";
import { Figures, type Figure } from "../../../console/src/parts/figures.tsx";
import { duration } from "../../../console/src/time.ts";
import type { Forecast, Grown } from "../../../shop/src/playground/forecast.ts";
import type { StorageView } from "../../../shop/src/playground/storage.ts";
import { words } from "../i18n/words.ts";

function measured(name: string, which: string, forecast: Forecast | undefined, grown: Grown | undefined, no: string) {
  const { storage } = words();
  const isKnown = forecast !== undefined && grown !== undefined;
  return {
    name,
    value: <span data-forecast={which}>{isKnown ? storage.about(bytes(forecast.bytes)) : "–"}</span>,
    under: isKnown ? storage.measured(count(grown.keys), duration(grown.tookMs), count(forecast.keysPerDay)) : no,
  };
}

export function Forecasts({ view }: { readonly view: StorageView }): JSX.Element {
  const { retention, rates, forecasts, bytesPerKey, keysMin } = view;
  const { storage } = words();
  const tooFew = storage.tooFew(keysMin);
  const figures: Figure[] = [
    {
      name: storage.perKey,
      value: bytesPerKey === undefined ? "–" : bytes(bytesPerKey),
      under: bytesPerKey === undefined ? tooFew : storage.perKeyUnder,
    },
    measured(
      storage.atStorm(retention),
      "storm",
      forecasts.storm,
      rates.storm,
      rates.storm === undefined ? storage.noStorm : tooFew,
    ),
    measured(storage.atRun(retention), "run", forecasts.run, rates.run, tooFew),
  ];
  const { asked } = forecasts;
  if (asked !== undefined) {
    figures.push({
      name: storage.atAsked(retention),
      value: storage.about(bytes(asked.bytes)),
      under: storage.asked(count(asked.keysPerDay)),
    });
  }
  return <Figures figures={figures} />;
}
