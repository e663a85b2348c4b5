/** Events that were taken in: how many are remembered, what waits, what was given up. */
import type { JSX } from "preact";
import type { InboxAnswer } from "../contract.ts";
import { count } from "../amount.ts";
import { api } from "../api.ts";
import { words } from "../i18n/words.ts";
import { useLoad } from "../load.ts";
import { Figures } from "../parts/figures.tsx";
import { Shown } from "../parts/note.tsx";
import type { Place } from "../router.ts";
import { duration } from "../time.ts";
import { Letters } from "./letters.tsx";

const everyMs = 15_000;

function Taken({ answer: { stats, retentionMs } }: { readonly answer: InboxAnswer }): JSX.Element {
  const { inbox } = words();
  const oldest = (ms: number | undefined) => (ms === undefined ? {} : { under: inbox.oldest(duration(ms)) });
  return (
    <Figures
      figures={[
        { name: inbox.processed, value: count(stats.processed), under: inbox.kept(duration(retentionMs)) },
        {
          name: inbox.dead,
          value: count(stats.dead),
          ...(stats.dead > 0 && { tone: "warn" }),
          ...oldest(stats.oldestDeadMs),
        },
        { name: inbox.replaying, value: count(stats.replaying), ...oldest(stats.oldestReplayingMs) },
        {
          name: inbox.parked,
          value: count(stats.parked),
          ...(stats.parked > 0 && { tone: "warn" }),
          ...oldest(stats.oldestParkedMs),
        },
      ]}
    />
  );
}

export function Inbox({ place }: { readonly place: Place }): JSX.Element {
  const loaded = useLoad("inbox", (signal) => api.inbox(signal), everyMs);
  return (
    <div class="stack">
      <h1>{words().screens.inbox}</h1>
      <Shown loaded={loaded}>{(answer) => <Taken answer={answer} />}</Shown>
      {loaded.value !== undefined && (
        <Letters side="inbox" place={place} turn={loaded.value.stats.dead + loaded.value.stats.replaying} />
      )}
    </div>
  );
}
