/** What a verdict says, and what to do. The sentence itself comes from the server, which writes English. */
import type { AskAnswer } from "../contract.ts";
import { intentsAbout } from "../intents.ts";

/** Charged beyond the first: what has to be given back, intent by intent. */
function refunds(answer: AskAnswer, kind: AskAnswer["verdict"]): readonly string[] {
  return intentsAbout(answer, kind).map(({ keys, refund }) =>
    refund.length > 0
      ? `Refund ${refund.join(", ")}.`
      : `Refund what was charged too often under ${keys.map((name) => `key ${name}`).join(" and ")}.`,
  );
}

export const enVerdict = {
  verdicts: {
    "one-effect": "It took effect once",
    "two-intents": "Different purchases, each once",
    "no-effect": "It took no effect",
    "in-flight": "It is still running",
    "event-once": "The event took effect once",
    "event-dead": "The event was given up",
    "event-parked": "The event waits for its next attempt",
    "event-replaying": "The event is about to run again",
    "event-pending": "The event has not been sent yet",
    "event-discarded": "The event was discarded",
    "event-sent": "The event was sent",
    "two-keys-one-intent": "Two effects: two keys for one intent",
    "orphan-effect": "The provider did it, and the record does not say so",
    phantom: "The record says done, the provider knows nothing",
    "not-known": "The outcome is not known",
    "two-effects-one-key": "Two effects under one key",
    "nothing-found": "Nothing is known by this name",
  },
  says: ({ says }: AskAnswer): string => says,
  /** `kind`: of the verdict, and of what is to be said beside it. */
  nextSteps: (answer: AskAnswer, kind: AskAnswer["verdict"]): readonly string[] => {
    switch (kind) {
      case "two-keys-one-intent":
        return [
          ...refunds(answer, kind),
          "Let the client keep its key from the click on: see the guide of the client.",
        ];
      case "two-effects-one-key":
        return [
          ...refunds(answer, kind),
          'Set onUnknown of this step to "hold": its provider does not honour references.',
        ];
      case "orphan-effect":
        return ["Open the key and adopt what the provider has as its answer."];
      case "not-known":
        return ["Ask the provider by hand, then open the key and adopt or release it."];
      case "phantom":
        return ["Look for a reversal or a lost capture at the provider."];
      case "event-dead":
        return ["Find the letter in the inbox or the outbox, and replay or discard it."];
      case "event-parked":
        return ["Look into the consumer's log for why it fails: it is tried again by itself."];
      case "event-replaying":
        return ["Where it stays so, no consumer has its handler."];
      case "event-pending":
        return ["Open the outbox: whether relays are at work or paused, and what was given up before it."];
      case "nothing-found":
        return [
          "Check the spelling. A record is let go after its retention; an id of the provider is found by probes.",
        ];
      default:
        return [];
    }
  },
};
