/** What was committed, key by key, and what may never be seen of it. Told by the database, and by those who watch handlers. */
import { connection, read, strayPlace } from "./database.ts";
import type { Content, Run, TransactionsWorld } from "./world.ts";

/** What an answer of a handler says of itself. */
export interface Said {
  readonly key: string;
  /** The body of `ctx.transaction`, or the handler by itself. */
  readonly by: string;
  /** How many entries were written with it. */
  readonly writes: number;
}

interface Known {
  /** As it is stored. */
  answer: { readonly status: number; readonly text: string; readonly by: string } | undefined;
  /** Of the record, as everybody can see it. */
  state: string | undefined;
  fence: number;
  /** Handlers that had an effect in the outside world. */
  readonly charges: string[];
  /** Fences whose doubt `verify` has ended: nothing happened. */
  readonly cleared: Set<number>;
}

export interface Judge {
  /** Something about the key was committed. */
  written(key: string, verb: string): void;
  /** A statement of a body has reached the database. */
  heard(body: string, transaction: { body: string | undefined } | undefined): void;
  charged(key: string, by: string): void;
  /** A handler begins. */
  begun(run: Run, mode: "lease" | "transaction", asks: boolean): void;
  /** `verify` has said that nothing happened. */
  cleared(key: string): void;
  chargesOf(key: string): number;
  /** Somebody goes on as if this body were committed. */
  resolved(key: string, body: string): void;
  /** What a caller is told to be final. */
  told(key: string, text: string, content: Content): void;
  /** A caller is told that the key is another content's. */
  refused(key: string, content: Content): void;
  answerOf(key: string): string | undefined;
}

const look = "select state, fence, response_status as status, response_body as body from ichido_records where key = ?";
const entries = `select body, count(*) filter (where place < ${strayPlace}) as count from entries where key = ? group by body`;
const decoder = new TextDecoder();

export function createJudge(world: TransactionsWorld): Judge {
  const keys = new Map<string, Known>();

  function knownOf(key: string): Known {
    let known = keys.get(key);
    if (known === undefined) {
      known = { answer: undefined, state: undefined, fence: 0, charges: [], cleared: new Set() };
      keys.set(key, known);
    }
    return known;
  }

  function judgeEntries(key: string, known: Known): ReadonlyMap<string, number> {
    const written = new Map(
      read(() => connection.all(entries, key)).map(({ body, count }) => [String(body), Number(count)]),
    );
    // What one handler does, inside and outside the database, is one effect.
    const runs = new Set([...written.keys()].map((body) => body.split(".")[0]));
    const charged = known.charges.filter((run) => !runs.has(run));
    if (written.size + charged.length > 1) {
      world.violate("double-effect", `${key}: ${[...written.keys()].join(" ")}, charged by ${known.charges.join(" ")}`);
    }
    const [body] = written.keys();
    if (body !== undefined && known.answer?.by !== body) {
      world.violate("writes-without-answer", `${key}: ${body}, and the answer is ${known.answer?.text ?? "missing"}`);
    }
    return written;
  }

  function judgeAnswer(key: string, known: Known, written: ReadonlyMap<string, number>): void {
    const { answer } = known;
    if (answer === undefined) return;
    const said = JSON.parse(answer.text) as Said;
    if (said.key !== key) world.violate("answer-foreign", `${key}: ${answer.text}`);
    if (said.writes === (written.get(said.by) ?? 0)) return;
    // Rolled back before anybody asked for a commit, or by the database's own word, a refusal stays true.
    const isUndone = !world.commitsSent.has(said.by) || world.undone.has(said.by);
    const isRefusal = answer.status >= 400 && !written.has(said.by) && isUndone;
    if (!isRefusal) {
      world.violate("answer-without-writes", `${key}: ${answer.text}, written ${written.get(said.by) ?? 0}`);
    }
  }

  function lookAt(key: string, known: Known): void {
    const row = read(() => connection.get(look, key));
    const before = known.answer;
    known.state = row === undefined ? undefined : String(row["state"]);
    known.fence = Number(row?.["fence"] ?? 0);
    if (known.state === "completed") {
      const text = decoder.decode(row?.["body"] as Uint8Array);
      if (before?.text === text) return;
      known.answer = { status: Number(row?.["status"]), text, by: (JSON.parse(text) as Said).by };
      world.note(`${key} has its answer: ${text}`);
    } else known.answer = undefined;
    if (before !== undefined) world.violate("answer-changed", `${key}: ${before.text}`);
  }

  return {
    written(key, verb) {
      const known = knownOf(key);
      const { state, fence } = known;
      lookAt(key, known);
      judgeAnswer(key, known, judgeEntries(key, known));
      if (verb !== "release" || known.state !== "failed" || state !== "processing") return;
      const run = world.runs.find((each) => each.key === key && each.fence === fence);
      if (run !== undefined && !run.isSettled) world.violate("released-while-running", `${key}: ${run.name}`);
    },
    heard(body, transaction) {
      if (transaction === undefined) return world.violate("outside", `${body} writes outside its transaction`);
      transaction.body ??= body;
      if (transaction.body !== body)
        world.violate("foreign", `${body} writes in the transaction of ${transaction.body}`);
    },
    charged(key, by) {
      const known = knownOf(key);
      known.charges.push(by);
      world.note(`${by} charges for ${key}`);
      judgeEntries(key, known);
    },
    begun(run, mode, asks) {
      const { state, fence, cleared } = knownOf(run.key);
      if (mode !== "transaction" || !asks || state !== "processing") return;
      // The doubt came after its claim, which the database must have undone: nothing of this handler is ever committed.
      if (fence > run.fence) return;
      if (!cleared.has(fence)) world.violate("doubt-not-asked", `${run.key}: fence ${fence}, ${run.name} runs`);
    },
    cleared(key) {
      const known = knownOf(key);
      known.cleared.add(known.fence);
    },
    chargesOf: (key) => knownOf(key).charges.length,
    resolved(key, body) {
      if (knownOf(key).answer?.by !== body) world.violate("resolved-uncommitted", `${key}: ${body}`);
    },
    told(key, text, content) {
      const { answer } = knownOf(key);
      if (answer?.text !== text) return world.violate("answer-not-stored", `${key}: ${text}`);
      const maker = world.runs.find(({ name }) => name === answer.by.split(".")[0]);
      if (maker !== undefined && maker.content !== content)
        world.violate("answer-of-other-content", `${key}: ${text} for the ${content} content`);
    },
    refused(key, content) {
      const others = world.asked.get(key);
      if (others === undefined || others.size < 2) world.violate("refused-alone", `${key}: the ${content} content`);
    },
    answerOf: (key) => knownOf(key).answer?.text,
  };
}
