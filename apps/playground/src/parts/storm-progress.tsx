/** How far a storm is, counted by its buyers, and the button that ends it early. */
import type { JSX } from "preact";
import { count } from "../../../console/src/amount.ts";
import { Note } from "../../../console/src/parts/note.tsx";
import { duration } from "../../../console/src/time.ts";
import type { StormView } from "../../../shop/src/playground/storm-view.ts";
import { ask } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useDoing } from "./doing.ts";

function sentenceOf({ state, lane, lanes, order, progress, error = "" }: StormView): string {
  const { bought, of, tookMs } = progress;
  const { running, stopping, stopped, done } = words().storm;
  const ended = { done, stopped }[state as "done" | "stopped"];
  if (ended !== undefined) return ended(count(bought), count(of), duration(tookMs));
  if (state === "failed") return error;
  const now = lane === undefined ? "" : running(words().lanes[lane], lanes[lane]?.bought ?? 0, order.payments);
  return state === "stopping" ? `${now} ${stopping}` : `${now} · ${duration(tookMs)}`;
}

export function StormProgress({ view }: { readonly view: StormView }): JSX.Element {
  const { isBusy, problem, run: work } = useDoing();
  const { state, progress } = view;
  const isRunning = state === "running" || state === "stopping";
  return (
    <div class="inside stack">
      <div class="row">
        <progress aria-label={words().storm.progress} max={progress.of} value={progress.bought} />
        <span class="small" data-progress={progress.bought}>
          {sentenceOf(view)} {state !== "failed" && <span class="muted">{words().countedBy.buyers}</span>}
        </span>
        {isRunning && (
          <button
            type="button"
            class="button danger"
            data-stop-storm
            disabled={isBusy || state === "stopping"}
            onClick={() => work(() => ask("storm/stop", {}))}
          >
            {words().storm.stop}
          </button>
        )}
      </div>
      {problem !== undefined && <Note tone="bad" icon="warning" title={problem} isAlert />}
    </div>
  );
}
