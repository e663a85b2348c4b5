/** Ask: from what a ticket says to the verdict, the same as `npx ichido why`. */
import { present } from "../core/contract/present.ts";
import { why, type Question, type WhyParts } from "../operations/index.ts";
import { iso } from "../operations/told-record.ts";
import { verdictJson, verdictMarkdown } from "../operations/told-verdict.ts";
import type { AskAnswer } from "./contract.ts";
import { storeNowMs } from "./store-now.ts";
import type { Asked, ConsoleParts } from "./parts.ts";
import { Problem } from "./problem.ts";

const dayMs = 86_400_000;

function questionOf(asked: Asked): Question {
  const query = asked.query("text", "amount", "at", "withinMs", "sinceMs");
  const [text, amount, atMs] = [query.text("text")?.trim(), query.number("amount"), query.moment("at")];
  if ((text === undefined || text === "") && amount === undefined)
    throw new Problem("parameter", "text: say what the ticket has, or amount and at", { parameter: "text" });
  if (amount !== undefined && atMs === undefined)
    throw new Problem("parameter", "at: an amount needs a time", { parameter: "at" });
  const since = query.whole("sinceMs", 0, 3_650 * dayMs);
  return present({
    text: text === "" ? undefined : text,
    amount,
    atMs,
    withinMs: query.whole("withinMs", 1_000, dayMs),
    sinceMs: since === undefined ? undefined : Date.now() - since,
  });
}

/** Each look for a place at the database. */
function eventsOf({ settings: { inbox, outbox }, gate }: ConsoleParts): Pick<WhyParts, "inbox" | "outbox"> {
  return present({
    inbox: inbox && {
      find: (id: string) => gate(() => inbox.find(id)),
      dead: { audit: (letter: Parameters<typeof inbox.dead.audit>[0]) => gate(() => inbox.dead.audit(letter)) },
    },
    outbox: outbox && {
      find: (id: string) => gate(() => outbox.find(id)),
      dead: { audit: (letter: Parameters<typeof outbox.dead.audit>[0]) => gate(() => outbox.dead.audit(letter)) },
    },
  });
}

export async function ask(asked: Asked): Promise<AskAnswer> {
  const question = questionOf(asked);
  const { parts } = asked;
  const { probes = {}, suspectWithinMs } = parts.engine;
  const ichido = { store: parts.store, probes, ...present({ suspectWithinMs }) };
  const verdict = await parts.probeGate(() => why({ ichido, ...eventsOf(parts) }, question));
  const { v: _, keys, intents = [], ...told } = verdictJson(verdict, parts.looking);
  return {
    ...told,
    intents,
    keys: keys.map((key, index) => {
      const { key: clear = "", scopeHash = new Uint8Array() } = verdict.keys[index] ?? {};
      return { ...key, handle: parts.link.handles.of({ key: clear as never, scopeHash }) };
    }),
    markdown: verdictMarkdown(verdict, parts.looking),
    askedAt: iso(await storeNowMs(parts)),
  };
}
