/** What the playground remembers is bounded, however long it runs. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { openData } from "../src/playground/data.ts";
import { EventLog, REMEMBERED_MAX } from "../src/playground/event-log.ts";
import { createGrowth, SAMPLES_MAX } from "../src/playground/growth.ts";
import { newFolder } from "./support/program.ts";

describe("the event log", () => {
  it("is bounded: a storm wipes out its own events, never those of a payment by hand, and who counts misses none", async () => {
    const log = new EventLog(newFolder());
    onTestFinished(() => log.close());
    let counted = 0;
    const leave = log.watch(() => {
      counted += 1;
    });
    log.note({ who: "buyer", pid: 0, run: "by-hand", what: "click" });
    const MANY = 2 * REMEMBERED_MAX;
    for (let at = 0; at < MANY; at += 1) log.note({ who: "proxy", pid: 0, run: `storm1-${at}`, what: "arrived" });
    expect(log.events.length).toBeLessThanOrEqual(REMEMBERED_MAX);
    expect(log.of("by-hand")).toHaveLength(1);
    expect(log.of(`storm1-${MANY - 1}`)).toHaveLength(1);
    const seqs = log.events.map(({ seq }) => seq);
    expect(seqs).toEqual(seqs.toSorted((one, other) => one - other));
    expect(counted).toBe(MANY + 1);
    leave();
    log.note({ who: "buyer", pid: 0, what: "click" });
    expect(counted).toBe(MANY + 1);
  });
});

describe("growth", () => {
  it("is bounded, and still tells of the start and of now", async () => {
    const folder = newFolder();
    const files = ["unprotected", "protected"].map((lane) => new DatabaseSync(join(folder, `${lane}.sqlite`)));
    onTestFinished(() => files.forEach((file) => file.close()));
    for (const file of files) {
      file.exec(
        "PRAGMA synchronous = OFF; CREATE TABLE payments (id INTEGER); CREATE TABLE ichido_records (id INTEGER)",
      );
    }
    const growth = createGrowth(await openData(folder, undefined));
    const times = SAMPLES_MAX + 50;
    for (let at = 0; at < times; at += 1) {
      await growth.sample();
      files[1]?.exec("INSERT INTO ichido_records VALUES (1)");
    }
    const keys = growth.samples.map((sample) => sample.keys);
    expect(keys.length).toBeLessThanOrEqual(SAMPLES_MAX);
    expect([keys[0], keys.at(-1)]).toEqual([0, times - 1]);
    expect(keys).toEqual(keys.toSorted((one, other) => one - other));
  });
});
