/** K: one key, one effect. */
import { lacking, type ConformCase } from "../case.ts";

export const coreCases: readonly ConformCase[] = [
  {
    id: "K-01",
    title: "an unseen key runs once, without the marker",
    level: "must",
    reference: "draft section 2.6",
    run: (s) => s.counting(1, async () => void s.executed(await s.ask({ key: s.freshKey() }))),
  },
  {
    id: "K-02",
    title: "the same request again gets the same answer with the marker, and no second effect",
    level: "must",
    reference: "draft section 2.6; Stripe; ACP 6.3",
    run: (s) =>
      s.counting(1, async () => {
        const key = s.freshKey();
        const first = s.executed(await s.ask({ key }));
        s.replayed(await s.ask({ key }), first);
        s.replayed(await s.ask({ key }), first);
      }),
  },
  {
    id: "K-03",
    title: "a missing key is refused where one is required",
    level: "must",
    reference: "draft section 2.7; ACP 6.1",
    unless: ({ description }) => (description.keyRequired === false ? "the key is optional here" : undefined),
    run: (s) => s.counting(0, async () => void s.refused(await s.ask({ key: null }), 400, "a key is required")),
  },
  {
    id: "K-04",
    title: "where a key is optional, requests without one all run",
    level: "must",
    reference: "draft section 2.5; Stripe v2",
    unless: lacking("optionalOperation"),
    run: (s) =>
      s.counting(2, async () => {
        for (let round = 0; round < 2; round += 1) {
          s.executed(await s.renewed(() => s.ask({ ...s.description.optionalOperation, key: null })));
        }
      }),
  },
  {
    id: "K-05",
    title: "two keys with the same body are two effects",
    level: "must",
    reference: "draft section 2.6; AWS; Shopify",
    run: (s) =>
      s.counting(2, async () => {
        for (let round = 0; round < 2; round += 1) {
          s.executed(await s.renewed(() => s.ask({ key: s.freshKey() })));
        }
      }),
  },
];
