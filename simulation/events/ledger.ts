/** What was truly committed, and what must be true of it at every moment. */
import type { Machine } from "../machine.ts";
import { runStatement } from "./database.ts";
import { leasedName } from "./handlers.ts";
import { Pauses } from "./pauses.ts";
import { RelaySessions, type RelayLetter } from "./relay-sessions.ts";
import type { Written } from "./server.ts";
import { Strangers, unhandledName } from "./strangers.ts";
import type { EventsWorld } from "./world.ts";

export interface Added {
  readonly id: string;
  readonly key: string;
  readonly atMs: number;
}

export interface Letter {
  readonly handler: string;
  readonly id: string;
  readonly reason: string;
  readonly state: string;
  /** What it keeps of its message: letters of one id with other content are other letters. */
  readonly content: string;
}

/** A start of a redelivered message, as it is committed. */
interface Start {
  readonly machine: Machine;
  readonly name: string;
  readonly sinceMs: number;
  /** Until when its process has run the handler since. */
  ranUntilMs: number;
  endedMs: number | undefined;
}

const addsEvent = /^insert into ichido_outbox \(id,/;
const takesEffect = /^insert into effects/;
const decides = /^insert into ichido_(inbox|outbox)_audit/;
const aboutLetters = /_dead\b/;
const starts = /^insert into ichido_inbox_starts/;
const forgets = /^delete from ichido_inbox where \(handler, id\) in/i;
const endsStart = /^delete from ichido_inbox_starts where handler = \? and id = \? and token/;
const endsStarts = /^delete from ichido_inbox_starts where handler = \? and id = \?$/;
const lettersKept =
  "select handler, id, reason, state, envelope || cast(payload as text) as content from ichido_inbox_dead order by place";
/** A process that was cut off takes its starts back within a few seconds of its return. */
const cutOffMs = 3_000;
/** So soon after it wakes, whoever wrote a letter without its lease has taken it back. */
const takesBackMs = 1_000;
/** For so long whoever takes a start for a death waits for its end. */
const lateEndMs = 1_500;

const nameOf = (handler: string, id: string): string => `${handler} of ${id}`;

export class Ledger {
  readonly events: Added[] = [];
  readonly strangers = new Strangers();
  readonly #world: EventsWorld;
  readonly #effects = new Map<string, number>();
  /** Handlers' letters, and events that the relay gave up, whatever became of them later. */
  readonly #everDead = new Set<string>();
  readonly #passed = new Set<string>();
  readonly #discarded = new Set<string>();
  /** Effects in the database, and when their handler began. */
  readonly #here: { readonly name: string; readonly atMs: number }[] = [];
  /** Of handlers under a lease: their records say that they are done. */
  readonly #completed = new Set<string>();
  /** When a process last began to run a handler for an event. */
  readonly #begunMs = new Map<string, number>();
  readonly #runs = new Map<string, number>();
  readonly #seqs = new Map<string, number>();
  /** By their tokens, those that were taken back as well. */
  readonly #starts = new Map<string, Start>();
  /** Effects that are not in the database. */
  outside = 0;
  letters: readonly Letter[] = [];
  readonly pauses: Pauses;
  readonly relays: RelaySessions;

  constructor(world: EventsWorld) {
    this.#world = world;
    this.pauses = new Pauses(world);
    this.relays = new RelaySessions(world);
  }

  effectsOf(handler: string, id: string): number {
    return this.#effects.get(nameOf(handler, id)) ?? 0;
  }

  /** It is processed, and its letter, should there be one, is a copy's. */
  isDone(handler: string, id: string): boolean {
    const isKnown = handler !== leasedName || this.#completed.has(nameOf(handler, id));
    return isKnown && this.effectsOf(handler, id) > 0;
  }

  isDiscarded(handler: string, id: string): boolean {
    return this.#discarded.has(nameOf(handler, id)) || this.#discarded.has(id);
  }

  committed(machine: Machine, wrote: readonly Written[]): void {
    let isAboutLetters = false;
    this.relays.committed(machine, wrote);
    for (const { sql, values, affected } of wrote) {
      if (addsEvent.test(sql)) this.#added(String(values[0]), String(values[2]));
      else if (takesEffect.test(sql)) this.tookEffect(machine, String(values[0]), String(values[1]), "here");
      else if (starts.test(sql)) {
        const [handler, id, token] = values.map(String);
        const name = nameOf(handler ?? "", id ?? "");
        const sinceMs = this.#world.nowMs;
        this.#starts.set(token ?? "", { machine, name, sinceMs, ranUntilMs: sinceMs, endedMs: undefined });
      } else if (endsStart.test(sql)) this.#takenBack(this.#starts.get(String(values[2])));
      else if (decides.test(sql)) this.#decided(sql, values.map(String));
      else if (aboutLetters.test(sql)) isAboutLetters = true;
      if (affected > 0 && forgets.test(sql)) this.#judgeForgotten();
    }
    if (isAboutLetters) this.#readLetters(machine);
    for (const { sql, values } of wrote) {
      if (!endsStarts.test(sql)) continue;
      const name = nameOf(String(values[0]), String(values[1]));
      for (const start of this.#starts.values()) if (start.name === name) this.#takenBack(start);
    }
  }

  /** What was processed is remembered for the retention. */
  #judgeForgotten(): void {
    const rows = runStatement("select handler, id from ichido_inbox").rows;
    const kept = new Set(rows.map(({ handler, id }) => nameOf(String(handler), String(id))));
    const { plan, nowMs } = this.#world;
    const gone = this.#here.find(({ name, atMs }) => nowMs - atMs < plan.retentionMs && !kept.has(name));
    if (gone !== undefined) this.#world.violate("forgotten-early", gone.name);
  }

  #takenBack(start: Start | undefined): void {
    if (start !== undefined) start.endedMs ??= this.#world.nowMs;
  }

  #added(id: string, key: string): void {
    this.events.push({ id, key, atMs: this.#world.nowMs });
    this.#seqs.set(id, Number(runStatement("select seq from ichido_outbox where id = ?", [id]).rows[0]?.["seq"]));
    this.#world.note(`added ${id} of key ${key}`);
  }

  #decided(sql: string, values: readonly string[]): void {
    const part = sql.includes("inbox") ? "inbox" : "outbox";
    this.pauses.decided(part, values);
    if (values[0] === "replay" && values[1] === unhandledName) this.strangers.given.add(values[2] ?? "");
    if (!values.includes("discard")) return;
    if (part === "inbox") this.#discarded.add(nameOf(values[1] ?? "", values[2] ?? ""));
    else {
      this.#discarded.add(values[0] ?? "");
      this.#passed.add(values[0] ?? "");
    }
  }

  /** Which run of the handler for this event it is, by whatever process. */
  began(machine: Machine, handler: string, id: string): number {
    const name = nameOf(handler, id);
    const run = (this.#runs.get(name) ?? 0) + 1;
    this.#runs.set(name, run);
    this.#world.note(`${machine.name} runs ${name}`);
    this.pauses.judgeRun(machine, id);
    this.#begunMs.set(`${machine.name} ${name}`, this.#world.nowMs);
    this.#runsUntil(machine, name, Number.POSITIVE_INFINITY);
    return run;
  }

  ended(machine: Machine, handler: string, id: string): void {
    this.#runsUntil(machine, nameOf(handler, id), this.#world.nowMs);
  }

  #runsUntil(machine: Machine, name: string, untilMs: number): void {
    for (const start of this.#starts.values())
      if (start.machine === machine && start.name === name && start.endedMs === undefined) start.ranUntilMs = untilMs;
  }

  completed(id: string): void {
    this.#completed.add(nameOf(leasedName, id));
  }

  tookEffect(machine: Machine, handler: string, id: string, where: "here" | "outside"): void {
    const name = nameOf(handler, id);
    if (where === "outside") this.outside += 1;
    else this.#here.push({ name, atMs: this.#begunMs.get(`${machine.name} ${name}`) ?? 0 });
    const count = (this.#effects.get(name) ?? 0) + 1;
    this.#effects.set(name, count);
    this.#world.counts.effects += 1;
    this.#world.note(`EFFECT ${name} by ${machine.name}`);
    this.#world.tookEffect(machine, this.#everDead.has(name));
    if (count > 1) this.#world.violate("effect-twice", name);
    if (this.#discarded.has(name)) this.#world.violate("discarded-ran", name);
    const isDead = this.letters.some((each) => each.state === "dead" && nameOf(each.handler, each.id) === name);
    if (isDead && (where === "here" || this.#ranUnhurt(machine, name))) this.#world.violate("dead-ran", name);
    this.#judgeOrder(handler, id);
  }

  /** Nothing struck it since it began: it has its lease, and nobody puts aside what it runs. */
  #ranUnhurt(machine: Machine, name: string): boolean {
    const sinceMs = this.#begunMs.get(`${machine.name} ${name}`) ?? 0;
    return (this.#world.struckMs.get(machine) ?? Number.NEGATIVE_INFINITY) < sinceMs;
  }

  judgeSending(machine: Machine, id: string): void {
    this.relays.judgeSending(machine, { id, seq: this.#seqs.get(id) });
    this.pauses.judgeSending(machine, id);
  }

  /** Nothing of its key stands before it that has not had its turn. */
  #judgeOrder(handler: string, id: string): void {
    const event = this.events.find((each) => each.id === id);
    if (this.#everDead.has(nameOf(handler, id)) || this.#passed.has(id)) return;
    for (const earlier of this.events) {
      if (earlier.id === id) return;
      if (earlier.key !== event?.key || this.effectsOf(handler, earlier.id) > 0) continue;
      if (this.#everDead.has(nameOf(handler, earlier.id)) || this.#passed.has(earlier.id)) continue;
      this.#world.violate("order", `${nameOf(handler, id)} before ${earlier.id}, key ${earlier.key}`);
      return;
    }
  }

  #readLetters(by: Machine): void {
    const before = this.letters;
    const formerOf = ({ handler, id, content }: Letter) =>
      before.find((each) => each.handler === handler && each.id === id && each.content === content);
    const rows = runStatement(lettersKept).rows as unknown as Letter[];
    this.letters = rows.map((letter) => {
      const former = formerOf(letter);
      return former?.state === letter.state && former.reason === letter.reason ? former : letter;
    });
    for (const letter of this.letters) {
      const { handler, id, reason, state } = letter;
      const name = nameOf(handler, id);
      const former = formerOf(letter);
      if (former === letter) continue;
      this.#world.note(`letter ${name}: ${reason}, ${state}, by ${by.name}`);
      this.#everDead.add(name);
      this.strangers.lettered(handler, letter.content);
      if (former === undefined) this.#world.counts.letters += 1;
      if (state === "dead") this.#world.onLetter(by);
      if (state === "dead") this.#judgeLetter(letter, by);
    }
    const { added, gone } = this.relays.readLetters();
    for (const letter of gone) this.#judgeGone(letter);
    for (const { id, reason } of added) {
      this.#world.onLetter(by);
      if (this.#world.plan.onDead === "skip" && !this.#passed.has(id)) {
        this.#world.note(`relay's letter ${id}: ${reason}, by ${by.name}`);
        this.#passed.add(id);
      }
    }
  }

  /** Whoever did not decide about it may remove it when it was kept for long enough, unless its key waits for it. */
  #judgeGone({ id, seq, dead_ms: deadMs }: RelayLetter): void {
    const isBack = runStatement("select 1 from ichido_outbox where seq = ?", [seq]).rows.length > 0;
    if (isBack || this.#discarded.has(id)) return;
    const { outboxKeeps, onDead } = this.#world.plan;
    const isOld = outboxKeeps !== undefined && this.#world.databaseNowMs() - deadMs > outboxKeeps.deadMs;
    if (!isOld || onDead === "park-key") this.#world.violate("letter-swept", `the relay's ${id}`);
    this.#discarded.add(id);
  }

  #judgeLetter(letter: Letter, by: Machine): void {
    const { handler, id, reason } = letter;
    const name = nameOf(handler, id);
    if (reason === "crashed") this.#judgeCrashed(name, by);
    if (reason === "conflict" && this.strangers.count === 0) this.#world.violate("conflict-without-other", name);
    if (reason === "too-old" || reason === "unknown" || reason === "conflict") return;
    // What is called failed or crashed has not been processed; outside, a handler may fail after its effect.
    if (handler !== leasedName) {
      if (this.effectsOf(handler, id) > 0) this.#world.violate("letter-of-processed", `${name}: ${reason}`);
    } else if (this.#completed.has(name)) this.#judgeLate(letter, by);
  }

  /** Whoever stood still under its lease may write the letter when another has the lease: it takes the letter back. */
  #judgeLate(letter: Letter, by: Machine): void {
    const { handler, id, reason } = letter;
    if (!by.isAlive || !this.letters.includes(letter)) return;
    if (this.#isHurt(by, takesBackMs)) this.#world.scheduler.after(takesBackMs, () => this.#judgeLate(letter, by));
    else this.#world.violate("letter-of-processed", `${nameOf(handler, id)}: ${reason}`);
  }

  /** It is dead, stands still, or was cut off a moment ago. */
  #isHurt(machine: Machine, agoMs = cutOffMs): boolean {
    const { nowMs, struckMs } = this.#world;
    return !machine.isAlive || nowMs - (struckMs.get(machine) ?? Number.NEGATIVE_INFINITY) < agoMs;
  }

  /**
   * As many as may have died have died, or may well seem to: they stand still, were cut off a moment ago, or were at work
   * all the while that `by` waited for them to end. Copies that only wait are none of them, but for those that wait for
   * such an end as well: they may just go on when `by` looks again.
   */
  #judgeCrashed(name: string, by: Machine): void {
    const { plan, nowMs } = this.#world;
    const started = [...this.#starts.values()].filter((each) => each.name === name);
    const own = started.findLast(({ machine }) => machine === by);
    const deaths = started.filter(({ machine, sinceMs, endedMs }) => {
      if (!this.#isHurt(machine)) return false;
      // Its end may come between the last look and the letter.
      return endedMs === undefined || (own !== undefined && endedMs - Math.max(sinceMs, own.sinceMs) >= lateEndMs);
    });
    const atWork = started.filter(({ machine, sinceMs, ranUntilMs, endedMs = nowMs }) => {
      if (own === undefined || machine === by) return false;
      return Math.min(ranUntilMs, endedMs) - Math.max(sinceMs, own.sinceMs) >= lateEndMs;
    });
    const waited = started.filter(({ machine, sinceMs, endedMs }) => {
      if (own === undefined || machine === by || endedMs !== undefined || sinceMs > own.sinceMs) return false;
      const open = started.filter((each) => each.sinceMs < sinceMs && (each.endedMs ?? nowMs) > sinceMs);
      return open.length >= plan.crashesMax && own.sinceMs - sinceMs < lateEndMs;
    });
    const seeming = new Set([...deaths, ...atWork, ...waited]).size;
    if (seeming >= plan.crashesMax) return;
    this.#world.violate("crashed-without-death", `${name}: ${seeming} of ${plan.crashesMax}`);
  }
}
