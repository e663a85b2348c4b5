/** C: several requests at once. Few, so that a server in use is not harmed. */
import { counting, defineCases, either, lacking, otherContent } from "../case.ts";
import type { Reply, Session } from "../session.ts";
import { onceSettled } from "./failure.ts";

const crowd = 10;

function slowPart(s: Session): object {
  const { ms: _ms, ...part } = s.description.variants?.slow ?? { ms: 0 };
  return part;
}

/** Sends all requests at once: one runs, the others get its answer or a refusal that asks them to wait. */
async function rush(s: Session, origins: readonly string[]): Promise<void> {
  await s.counting(1, async () => {
    const key = s.freshKey();
    const part = slowPart(s);
    const replies = await Promise.all(
      Array.from({ length: crowd }, (_, index) =>
        s.ask({ ...part, key, origin: origins[index % origins.length] ?? "" }),
      ),
    );
    const first: Reply[] = [];
    for (const reply of replies) {
      const isReplay = reply.header(s.profile.marker.name) !== undefined;
      if (isReplay || s.isInFlight(reply)) continue;
      first.push(s.executed(reply));
    }
    const [winner, second] = first;
    if (winner === undefined) s.fail("one of the requests to run", replies[0] as Reply);
    if (second !== undefined) s.fail(`one of ${crowd} simultaneous requests to run`, second, `${first.length} ran`);
    for (const reply of replies) {
      if (reply.header(s.profile.marker.name) !== undefined) s.replayed(reply, winner);
    }
    s.replayed(await s.ask({ ...part, key }), winner);
  });
}

export const concurrencyCases = defineCases({
  [`C-01: of ${crowd} simultaneous requests one runs`]: {
    must: "draft sections 2.6, 2.7; draft issue 42",
    run: (s) => rush(s, [s.description.url]),
  },
  "C-02: a refusal in flight says when to come back, is not stored, and the retry replays": {
    must: "ACP 6.4; Stripe",
    unless: lacking("variants.slow"),
    run: counting(1, async (s, key) => {
      const part = slowPart(s);
      const replies = await Promise.all([s.ask({ ...part, key }), s.ask({ ...part, key })]);
      const refused = replies.find((reply) => s.isInFlight(reply));
      const other = replies.find((reply) => reply !== refused) as Reply;
      if (refused !== undefined) {
        const after = refused.header("retry-after") ?? "";
        if (!/^[1-9]\d*$/.test(after)) s.fail("Retry-After in whole seconds, at least 1", refused);
        if (s.profile.inFlight === "accepted" && refused.header("location") === undefined) {
          s.fail("Location of a status resource", refused);
        }
      } else if (!replies.some((reply) => reply.header(s.profile.marker.name) !== undefined)) {
        s.fail("409 with Retry-After, 202, or a replay after waiting", other);
      }
      const first = replies.find((r) => r !== refused && r.header(s.profile.marker.name) === undefined) ?? other;
      s.replayed(await onceSettled(s, () => s.ask({ ...part, key })), s.executed(first));
    }),
  },
  "C-03: other content is a mismatch also while the first is running": {
    must: "draft section 2.7",
    unless: either(lacking("variants.slow"), otherContent),
    run: counting(1, async (s, key) => {
      const part = slowPart(s);
      // The first request to arrive runs; the other one is a mismatch at once.
      const replies = await Promise.all([s.ask({ ...part, key }), s.ask({ ...part, key, ...s.other })]);
      const status = s.statusOf(part);
      const ran = replies.filter((reply) => reply.status === status);
      const [winner] = ran;
      if (winner === undefined || ran.length > 1) s.fail("one of the two to run", replies[1] as Reply);
      const loser = s.mismatch(replies.find((reply) => reply !== winner) as Reply);
      if (s.isInFlight(loser)) s.fail("a mismatch, which no waiting helps", loser);
    }),
  },
  [`C-04: of ${crowd} simultaneous requests to several servers one runs`]: {
    must: "draft section 2.6",
    unless: lacking("replicas"),
    run: (s) => rush(s, [s.description.url, ...(s.description.replicas ?? [])]),
  },
});
