import { expect, test } from "vitest";
import { sampleFingerprint, sampleIdentity } from "../testing/store-suite/samples.ts";
import { bytesOfWords, pageOfBatch, pagesMax, SuspectSearch, type LogPages } from "./suspects.ts";

const processes = 300;
const seconds = 8;

test("S22 a search comes to the newest pages, however many processes write a page a second", async () => {
  const pages: { place: number; writtenMs: number; process: string; intents: Uint8Array; bytes: Uint8Array }[] = [];
  const shelf: LogPages = {
    since: async (sinceMs, process) =>
      pages.filter((page) => page.writtenMs >= sinceMs && page.process !== process).slice(0, pagesMax),
    page: async (place) => pages.find((page) => page.place === place)?.bytes,
    addPairs: async (pairs) => pairs,
  };
  function write(process: string, key: string, content: string, writtenMs: number) {
    const note = {
      number: 1,
      outcome: "executed",
      agoMs: 0,
      tookMs: 1,
      keepMs: 86_400_000,
      attempt: 1,
      fence: 1,
    } as const;
    const { canonical } = sampleFingerprint(content);
    const batch = { process, suspectWithinMs: 600_000, notes: [{ ...note, identity: sampleIdentity(key), canonical }] };
    const page = pageOfBatch(batch);
    const place = pages.length + 1;
    pages.push({ place, writtenMs, process, intents: bytesOfWords(page.intents), bytes: page.bytes });
    return { batch, page, at: { place, writtenMs } };
  }

  const search = new SuspectSearch();
  const found: number[] = [];
  for (let second = 0; second < seconds; second += 1) {
    const startMs = 1_000_000 + second * 1_000;
    for (let number = 0; number < processes; number += 1) {
      // One of them runs what ours runs a second later under another key.
      const content = number === 1 ? `twin-${second}` : `${second}-${number}`;
      write(`p${number}`, `key-${second}-${number}`, content, startMs + Math.floor((number * 1_000) / processes));
    }
    const { batch, page, at } = write("ours", `ours-${second}`, `twin-${second - 1}`, startMs + 999);
    found.push((await search.search(batch, page, at, shelf)).pairs.length);
  }
  expect(found).toEqual([0, ...Array.from({ length: seconds - 1 }, () => 1)]);
});
