/** Two people decide about the same letters as both saw them: one of them does, and the other is told. */
import { expect, test } from "vitest";
import type { DecideLettersAnswer, LettersAnswer } from "../../packages/ichido/src/console/contract.ts";
import { forEachDatabase } from "./databases.ts";
import { visit } from "./visitor.ts";

forEachDatabase("letters that two people decide about", (bed) => {
  test("a letter that one lets run again is not discarded by the other, at once or later", async () => {
    const parts = { outbox: bed().outbox, inbox: bed().inbox };
    const [ann, bob] = [visit(bed().ichido, { user: "ann", ...parts }), visit(bed().ichido, { user: "bob", ...parts })];
    for (let turn = 0; turn < 5; turn += 1) {
      await bed().giveUp();
      const { body } = await ann.get<LettersAnswer>("api/inbox/dead");
      const seen = body.letters.filter(({ state }) => state === "dead");
      const letters = seen.map(({ letter, seen: mark }) => ({ letter, seen: mark }));
      expect(letters.length).toBeGreaterThan(0);
      const decision = { reason: "r", letters, count: letters.length, preview: false };
      const [replayed, discarded] = await Promise.all([
        ann.post<DecideLettersAnswer>("api/inbox/replay", decision),
        bob.post<DecideLettersAnswer>("api/inbox/discard", decision),
      ]);
      const resultOf = (answer: DecideLettersAnswer, letter: string): string | undefined =>
        answer.results.find((each) => each.letter === letter)?.result;
      const both = letters.filter(
        ({ letter }) => resultOf(replayed.body, letter) === "ok" && resultOf(discarded.body, letter) === "ok",
      );
      expect(both, `turn ${turn}`).toEqual([]);
    }
    ann.console.close();
    bob.console.close();
  });

  test("the inbox itself leaves a letter that is in another state than was seen", async () => {
    await bed().giveUp();
    const { dead } = bed().inbox;
    const { letters } = await dead.list();
    const letter = letters.find(({ state }) => state === "dead");
    const decision = { handler: letter?.handler ?? "", id: letter?.message.id ?? "", actor: "ann", reason: "r" };
    expect(await dead.discard({ ...decision, state: "replaying" })).toBe("changed");
    expect((await dead.get(decision))?.state).toBe("dead");
    expect(await dead.discard({ ...decision, state: "dead" })).toBe("ok");
    expect(await dead.discard({ ...decision, state: "dead" })).toBe("absent");
  });
});
