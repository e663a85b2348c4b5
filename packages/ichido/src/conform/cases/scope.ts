/** S: whose key it is. */
import { counting, defineCases, either, lacking, otherContent } from "../case.ts";
import type { Session } from "../session.ts";

function secondPrincipal({ description }: Session): string | undefined {
  return (description.principals?.length ?? 0) < 2 ? "not described: principals (two of them)" : undefined;
}

export const scopeCases = defineCases({
  "S-01: another caller's use of a key is not visible in any way": {
    must: "draft section 5; Brandur unique(user, key)",
    unless: secondPrincipal,
    run: counting(2, async (s, key) => {
      const [one, two] = s.description.principals ?? [];
      const first = s.executed(await s.ask({ key, as: one }));
      const second = s.executed(await s.renewed(() => s.ask({ key, as: two })));
      if (first.body.length > 0 && first.body.equals(second.body)) s.fail("an answer of its own", second);
    }),
  },
  "S-01 other: another caller's other content is no mismatch": {
    must: "draft section 5",
    unless: either(secondPrincipal, otherContent),
    run: counting(2, async (s, key) => {
      const [one, two] = s.description.principals ?? [];
      s.executed(await s.ask({ key, as: one }));
      s.executed(await s.renewed(() => s.ask({ key, as: two, ...s.other })));
    }),
  },
  "S-02: the same key on another operation never gets the first one's answer": {
    must: "ACP 6.1; Stripe",
    unless: lacking("secondOperation"),
    run: (s) =>
      s.counting(s.profile.operationInIdentity ? 2 : 1, async () => {
        const key = s.freshKey();
        const first = s.executed(await s.ask({ key }));
        const other = await s.renewed(() => s.ask({ ...s.description.secondOperation, key }));
        if (s.profile.operationInIdentity) s.executed(other);
        else s.mismatch(other);
        s.replayed(await s.ask({ key }), first);
      }),
  },
  "S-03: parts of the identity cannot be shifted into each other": {
    must: "draft section 5",
    unless: lacking("shifted"),
    run: async (s) => {
      const shifted = s.description.shifted ?? [];
      await s.counting(shifted.length, async () => {
        for (const { headers, key } of shifted) {
          s.executed(await s.renewed(() => s.ask({ key, as: headers })));
        }
      });
    },
  },
  "S-04: credentials that are refused get no replay": {
    must: "Stripe layer order; Adyen note",
    unless: lacking("refused"),
    run: counting(1, async (s, key) => {
      const first = s.executed(await s.ask({ key }));
      const reply = await s.ask({ key, as: s.description.refused });
      if (reply.status !== 401 && reply.status !== 403) s.fail("401 or 403 from the layer before", reply);
      if (reply.header(s.profile.marker.name) !== undefined) s.fail("no replay", reply);
      s.replayed(await s.ask({ key }), first);
    }),
  },
});
