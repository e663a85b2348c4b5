/** Names whose outcome is remembered, oldest first: what bounds them in number and age. */
import { readJson } from "./json-text.ts";
import { withLock, type AttemptStorage } from "./storage.ts";

/** Without it the storage of a page that is never closed would fill up. */
export const rememberedMax = 100;
const place = "ichido:done";

type Entry = readonly [name: string, atMs: number];

/** Adds a name, before its outcome is written. Answers which names are to be forgotten for it. */
export function remember(storage: AttemptStorage, added: Entry, ageMs: number): Promise<readonly string[]> {
  return withLock(storage, place, async () => {
    const [name, nowMs] = added;
    // A list that cannot be read bounds nothing, and loses nothing: each outcome is kept under its own name.
    const listed = (readJson((await storage.getItem(place)) ?? "") ?? []) as readonly Entry[];
    const others = listed.filter(([each]) => each !== name);
    const young = others.filter(([, atMs]) => nowMs - atMs < ageMs).slice(1 - rememberedMax);
    await storage.setItem(place, JSON.stringify([...young, added]));
    return others.filter((each) => !young.includes(each)).map(([each]) => each);
  });
}
