/** Sessions of relays, and the letters that relays write: nobody is given up for dead who is not, nor an event for nothing. */
import type { Machine } from "../machine.ts";
import { runStatement } from "./database.ts";
import type { Written } from "./server.ts";
import type { EventsWorld } from "./world.ts";

/** As it is committed. */
interface Session {
  readonly session: string;
  readonly name: string;
  readonly until_ms: number;
  readonly claimed: string;
  readonly alone: number;
}

export interface RelayLetter {
  readonly seq: number;
  readonly id: string;
  readonly reason: string;
  readonly dead_ms: number;
}

const aboutSessions = /_outbox_relays\b/;
const holds = /^update ichido_outbox_relays\s+set until_ms/;
const ends = /^delete from ichido_outbox_relays where session/;
const lettersKept = "select seq, id, reason, dead_ms from ichido_outbox_dead order by seq";

export class RelaySessions {
  readonly #world: EventsWorld;
  #sessions: readonly Session[] = [];
  /**
   * How many sessions ended with this event in their hands, since it was last given up. Of those that held many, one
   * counts: the others of the batch may have ended them.
   */
  readonly #deaths = new Map<number, number>();
  letters: readonly RelayLetter[] = [];

  constructor(world: EventsWorld) {
    this.#world = world;
  }

  committed(machine: Machine, wrote: readonly Written[]): void {
    if (!wrote.some(({ sql }) => aboutSessions.test(sql))) return;
    for (const { sql, values, affected } of wrote) {
      if (holds.test(sql) && affected === 0)
        this.#world.violate("wrote-without-session", `${machine.name} committed a turn of a session that is over`);
      if (ends.test(sql)) this.#ended(machine, String(values[0]));
    }
    this.#sessions = runStatement("select session, name, until_ms, claimed, alone from ichido_outbox_relays")
      .rows as unknown as Session[];
  }

  #ended(by: Machine, id: string): void {
    const session = this.#sessions.find((each) => each.session === id);
    if (session === undefined || session.name === by.name) return;
    const { name, claimed, until_ms: untilMs, alone } = session;
    if (untilMs >= this.#world.databaseNowMs())
      this.#world.violate("ended-living-session", `of ${name}, by ${by.name}`);
    for (const seq of claimed.split(",").filter(Boolean).map(Number))
      this.#deaths.set(seq, alone === 1 ? (this.#deaths.get(seq) ?? 0) + 1 : Math.max(1, this.#deaths.get(seq) ?? 0));
  }

  /** No relay sends what another one has in its hands, as long as both have their sessions. */
  judgeSending(machine: Machine, { id, seq }: { readonly id: string; readonly seq: number | undefined }): void {
    const living = this.#sessions.filter((each) => each.until_ms >= this.#world.databaseNowMs());
    if (!living.some(({ name }) => name === machine.name)) return;
    const holder = living.find(
      ({ name, claimed }) => name !== machine.name && claimed.split(",").includes(String(seq)),
    );
    if (holder === undefined) return;
    this.#world.violate("sent-from-other-hands", `${id} by ${machine.name}, while ${holder.name} holds it`);
  }

  /** Those that are new, and those that are gone. */
  readLetters(): { readonly added: readonly RelayLetter[]; readonly gone: readonly RelayLetter[] } {
    const before = this.letters;
    this.letters = runStatement(lettersKept).rows as unknown as RelayLetter[];
    const isIn = (letters: readonly RelayLetter[], { seq }: RelayLetter): boolean =>
      letters.some((each) => each.seq === seq);
    const added = this.letters.filter((letter) => !isIn(before, letter));
    for (const letter of added) this.#judgeLetter(letter);
    return { added, gone: before.filter((letter) => !isIn(this.letters, letter)) };
  }

  #judgeLetter({ seq, id, reason }: RelayLetter): void {
    const deaths = this.#deaths.get(seq) ?? 0;
    this.#deaths.delete(seq);
    const { relayCrashesMax } = this.#world.plan;
    if (reason === "crashed" && deaths < relayCrashesMax)
      this.#world.violate("crashed-without-death", `the relay's ${id}: ${deaths} of ${relayCrashesMax}`);
  }
}
