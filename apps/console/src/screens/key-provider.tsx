/** What the provider says now: asked when the page is opened, and again on demand. */
import type { JSX } from "preact";
import type { ProbesAnswer } from "../contract.ts";
import { words } from "../i18n/words.ts";
import type { Loaded } from "../load.ts";
import { Copy } from "../parts/copy.tsx";
import { Icon } from "../parts/icon.tsx";
import { Moment } from "../parts/moment.tsx";
import { Shown } from "../parts/note.tsx";
import { Badge } from "../parts/state.tsx";
import { effectText } from "./key-timeline.ts";

function Told({ probes }: Pick<ProbesAnswer, "probes">): JSX.Element {
  if (probes.length === 0) return <p class="muted">{words().noProbes}</p>;
  return (
    <ul class="stack">
      {probes.map(({ step, reference, effects, problem }) => (
        <li key={step} class="row">
          <strong>{step}</strong>
          {problem !== undefined ? (
            <Badge tone="warn">{words().probeDown}</Badge>
          ) : effects.length === 0 ? (
            <Badge tone="ok">{words().probeAbsent}</Badge>
          ) : (
            <Badge tone={effects.length > 1 ? "bad" : "warn"}>{words().probeFound(effects.length)}</Badge>
          )}
          {effects.map((effect) => (
            <span class="mono" key={effect.id}>
              {effectText(effect)}
              <Copy text={effect.id} what={effect.id} />
            </span>
          ))}
          {problem !== undefined && <span class="muted break">{problem}</span>}
          <span class="muted small break">
            {words().reference} <span class="mono">{reference}</span>
            <Copy text={reference} what={words().reference} />
          </span>
        </li>
      ))}
    </ul>
  );
}

export function Provider({ probed }: { readonly probed: Loaded<ProbesAnswer> }): JSX.Element {
  const { value, isLoading, again } = probed;
  return (
    <section class="card">
      <header>
        <h2>{words().providerSays}</h2>
        {value !== undefined && (
          <span class="muted small">
            {words().asked} <Moment ms={Date.parse(value.askedAt)} />
          </span>
        )}
        <button type="button" class="button bare end" onClick={again} disabled={isLoading}>
          <Icon name="reload" /> {isLoading ? words().asking : words().askAgain}
        </button>
      </header>
      <div class="inside">
        <Shown loaded={probed}>{({ probes }) => <Told probes={probes} />}</Shown>
      </div>
    </section>
  );
}
