/** E: what happens to a key when something fails. */
import { counting, defineCases, either, lacking } from "../case.ts";
import type { Reply, Session } from "../session.ts";

const settleMsMax = 20_000;

/** Asks again while the first is running. */
export async function onceSettled(s: Session, ask: () => Promise<Reply>): Promise<Reply> {
  const untilMs = performance.now() + settleMsMax;
  let reply = await ask();
  while (s.isInFlight(reply) && performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    reply = await ask();
  }
  return reply;
}

export const failureCases = defineCases({
  "E-01: a body that is refused before the operation begins does not use up the key": {
    should: "Stripe: execution begins",
    unless: lacking("variants.invalid"),
    run: counting(1, async (s, key) => {
      const refused = await s.ask({ ...s.description.variants?.invalid, key });
      if (refused.status < 400 || refused.status >= 500) s.fail("a refusal (4xx)", refused);
      s.executed(await s.ask({ key }));
    }),
  },
  "E-02: a refusal of an outer layer is not stored under the key": {
    must: "Stripe; Brandur",
    unless: lacking("refused"),
    run: counting(1, async (s, key) => {
      const refused = await s.ask({ key, as: s.description.refused });
      if (refused.status !== 401 && refused.status !== 403) s.fail("401 or 403", refused);
      s.executed(await s.ask({ key }));
    }),
  },
  "E-03: a failure without effect leaves the key free": {
    must: "ACP 6.5; Iceberg; draft issue 41",
    unless: either(lacking("variants.throws"), ({ description, profile }) => {
      if (profile.keepServerErrors) return "server errors are stored here";
      const { path, body, method } = description.variants?.throws ?? {};
      const differs = [path, body, method].some((part) => part !== undefined);
      return differs ? "variants.throws differs in more than headers: its retry would be another request" : undefined;
    }),
    run: counting(1, async (s, key) => {
      const failed = await s.ask({ ...s.description.variants?.throws, key });
      if (failed.status < 500) s.fail("a server error", failed);
      const first = s.executed(await s.ask({ key }));
      s.replayed(await s.ask({ key }), first);
    }),
  },
  "E-03 stored: where server errors are stored, a 500 is replayed": {
    must: "Stripe; draft section 2.6",
    unless: either(lacking("variants.throws"), ({ profile }) =>
      profile.keepServerErrors ? undefined : "server errors are not stored here",
    ),
    run: counting(0, async (s, key) => {
      const failed = await s.ask({ ...s.description.variants?.throws, key });
      if (failed.status < 500) s.fail("a server error", failed);
      s.replayed(await s.ask({ ...s.description.variants?.throws, key }), failed);
    }),
  },
  "E-04: a failure after the effect never leads to a second one": {
    must: "draft issue 41; Stripe; Brandur recovery points",
    unless: lacking("variants.throwsAfterEffect", "effects"),
    run: counting(1, async (s, key) => {
      const part = s.description.variants?.throwsAfterEffect;
      const failed = await s.ask({ ...part, key });
      if (failed.status < 500) s.fail("a server error", failed);
      await s.ask({ ...part, key });
      await s.ask({ ...part, key });
    }),
  },
  "E-05: a client that goes away after its request gets the answer of its one effect later": {
    must: "draft section 2.6",
    unless: lacking("variants.slow"),
    run: counting(1, async (s, key) => {
      const { ms = 0, ...part } = s.description.variants?.slow ?? {};
      await s.askAndLeave({ ...part, key }, ms / 2);
      const reply = await onceSettled(s, () => s.ask({ ...part, key }));
      if (reply.header(s.profile.marker.name) === undefined) s.fail("the replay of the first request's answer", reply);
      s.replayed(await s.ask({ ...part, key }), { ...reply, status: s.statusOf(part) });
    }),
  },
});
