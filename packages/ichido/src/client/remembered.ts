/** Lists of names, oldest first: what bounds in number and age what is kept under each name. */
import { readJson } from "./json-text.ts";
import { withLock, type AttemptStorage } from "./storage.ts";

type Entry = readonly [name: string, atMs: number];

export interface NameList {
  readonly place: string;
  readonly ageMs: number;
  /** Without it the storage of a page that is never closed would fill up. */
  readonly max: number;
}

/**
 * Adds a name, before what is kept under it is written. Answers which names are to be forgotten for it. With the time 0 the
 * name goes, and nothing else.
 */
export function enlist(storage: AttemptStorage, list: NameList, added: Entry): Promise<readonly string[]> {
  const { place, ageMs, max } = list;
  return withLock(storage, place, async () => {
    const [name, nowMs] = added;
    // A list that cannot be read bounds nothing, and loses nothing: what matters is kept under its own name.
    const listed = readJson((await storage.getItem(place)) ?? "");
    const others = (Array.isArray(listed) ? (listed as Entry[]) : []).filter((each) => each?.[0] !== name);
    const young = others.filter((each) => nowMs - each?.[1] < ageMs).slice(1 - max);
    await storage.setItem(place, JSON.stringify(nowMs ? [...young, added] : others));
    return others.filter((each) => !young.includes(each)).map((each) => each?.[0]);
  });
}
