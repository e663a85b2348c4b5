/** K: one key, one effect. */
import { counting, defineCases, lacking } from "../case.ts";

export const coreCases = defineCases({
  "K-01: an unseen key runs once, without the marker": {
    must: "draft section 2.6",
    run: counting(1, async (s, key) => void s.executed(await s.ask({ key }))),
  },
  "K-02: the same request again gets the same answer with the marker, and no second effect": {
    must: "draft section 2.6; Stripe; ACP 6.3",
    run: counting(1, async (s, key) => {
      const first = s.executed(await s.ask({ key }));
      s.replayed(await s.ask({ key }), first);
      s.replayed(await s.ask({ key }), first);
    }),
  },
  "K-03: a missing key is refused where one is required": {
    must: "draft section 2.7; ACP 6.1",
    unless: ({ description }) => (description.keyRequired === false ? "the key is optional here" : undefined),
    run: counting(0, async (s) => void s.refused(await s.ask({ key: null }), 400, "a key is required")),
  },
  "K-04: where a key is optional, requests without one all run": {
    must: "draft section 2.5; Stripe v2",
    unless: lacking("optionalOperation"),
    run: counting(2, async (s) => {
      for (let round = 0; round < 2; round += 1) {
        s.executed(await s.renewed(() => s.ask({ ...s.description.optionalOperation, key: null })));
      }
    }),
  },
  "K-05: two keys with the same body are two effects": {
    must: "draft section 2.6; AWS; Shopify",
    run: counting(2, async (s) => {
      for (let round = 0; round < 2; round += 1) {
        s.executed(await s.renewed(() => s.ask({ key: s.freshKey() })));
      }
    }),
  },
});
