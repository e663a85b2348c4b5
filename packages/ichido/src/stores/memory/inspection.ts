/** What `doctor` tells of records in memory; and the notes of engines. */
import { engineNoteKeptMs } from "../../core/contract/engine-note.ts";
import { findingOf } from "../../core/contract/finding.ts";
import type { Store } from "../../core/contract/store.ts";

const enginesMax = 100;

export function createInspection(nowMs: () => number): Required<Pick<Store, "inspect" | "noteEngine" | "engines">> {
  const notes = new Map<string, { readonly text: string; readonly notedMs: number }>();

  function forget(): void {
    for (const [engine, { notedMs }] of notes) if (nowMs() - notedMs > engineNoteKeptMs) notes.delete(engine);
  }

  return {
    async inspect() {
      const what = "keys are in the memory of one process: a restart forgets them, and other processes do not see them";
      const remedy = "use a store that outlives the process: sqlite, postgres, mysql or redis";
      return { server: "memory", nowMs: nowMs(), findings: [findingOf("not-durable", what, remedy)] };
    },
    async noteEngine({ engine, text }) {
      forget();
      notes.delete(engine);
      notes.set(engine, { text, notedMs: nowMs() });
    },
    async engines() {
      forget();
      const newest = [...notes].toReversed().slice(0, enginesMax);
      return newest.map(([engine, { text, notedMs }]) => ({ engine, text, ageMs: Math.max(0, nowMs() - notedMs) }));
    },
  };
}
