/** Lists of names, oldest first. They bound the number and the age of the items that are stored under these names. */
import { readJson } from "./json-text.ts";
import { withLock, type AttemptStorage } from "./storage.ts";

type Entry = readonly [name: string, atMs: number];

export interface NameList {
  readonly place: string;
  readonly ageMs: number;
  /** Without this bound the storage of a page that stays open would fill up. */
  readonly max: number;
}

/**
 * Adds a name, before its item is written. Answers which names the caller must forget to make room. With the time 0 it
 * removes the name, and nothing else.
 */
export function enlist(storage: AttemptStorage, list: NameList, added: Entry): Promise<readonly string[]> {
  const { place, ageMs, max } = list;
  return withLock(storage, place, async () => {
    const [name, nowMs] = added;
    // A list that cannot be read bounds nothing, but loses no attempt: each is stored under its own name.
    const listed = readJson((await storage.getItem(place)) ?? "");
    const others = (Array.isArray(listed) ? (listed as Entry[]) : []).filter((each) => each?.[0] !== name);
    const young = others.filter((each) => nowMs - each?.[1] < ageMs).slice(1 - max);
    await storage.setItem(place, JSON.stringify(nowMs ? [...young, added] : others));
    return others.filter((each) => !young.includes(each)).map((each) => each?.[0]);
  });
}
