/** Pages of the attempt log in the memory of this process. Past `notesMax` notes the oldest pages go. */
import type { WrittenPage } from "../../core/record-machine/log-page.ts";
import { toMs, usOf } from "../../core/record-machine/record.ts";
import { placeOf } from "../encoding.ts";
import type { PageShelf } from "../log-walk.ts";

interface Kept {
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly writtenUs: number;
}

export interface MemoryPages {
  /** Its place. */
  add(page: WrittenPage, nowUs: number): number;
  page(place: number): Uint8Array | undefined;
  walk(nowUs: () => number): PageShelf;
}

export function createLogPages(notesMax: number): MemoryPages {
  const pages = new Map<number, Kept>();
  let [last, notes] = [0, 0];

  return {
    add({ bytes, count }, writtenUs) {
      last += 1;
      pages.set(last, { bytes, count, writtenUs });
      notes += count;
      for (const [place, oldest] of pages) {
        if (notes <= notesMax || place === last) break;
        pages.delete(place);
        notes -= oldest.count;
      }
      return last;
    },
    page: (place) => pages.get(place)?.bytes,
    walk: (nowUs) => ({
      async begin(fromAgoMs) {
        const fromUs = fromAgoMs === undefined ? 0 : nowUs() - usOf(fromAgoMs);
        let from = last;
        for (const [place, { writtenUs }] of pages) {
          if (writtenUs < fromUs) continue;
          from = place - 1;
          break;
        }
        return { from: String(from), end: last === 0 ? undefined : String(last) };
      },
      async after(token, most) {
        const after = placeOf(token);
        const found = [...pages].filter(([place]) => place > after).slice(0, most);
        return found.map(([place, { bytes, writtenUs }]) => ({
          token: String(place),
          writtenMs: toMs(writtenUs),
          bytes,
        }));
      },
    }),
  };
}
