/**
 * Typed state transitions: which state may follow which, decided in one conditional UPDATE. When two callers saw the
 * same state, one moves it and the other learns that it has changed.
 */
import { knownOptions } from "../core/contract/option-checks.ts";
import { IchidoError } from "../core/contract/errors.ts";
import { locking, quotedName, requireSome, statementOn, type Columns, type GuardExecutor } from "./statement.ts";

type Moves = Readonly<Record<string, readonly string[]>>;
/** Every state in the table, as a source or as a target. */
export type StateOf<Table extends Moves> = (keyof Table & string) | Table[keyof Table][number];

export type MoveResult<State extends string> =
  /** This call moved it. */
  | { readonly outcome: "applied" }
  /** It is in that state already: a repeated event, or a caller that lost its answer. */
  | { readonly outcome: "already" }
  /** That state does not follow the one it is in. Nothing changed. */
  | { readonly outcome: "illegal"; readonly state: State | (string & {}) }
  | { readonly outcome: "absent" };

export interface MoveRequest<State extends string> {
  readonly table: string;
  /** Which row, by all its key columns: `{ id }`, `{ tenant, number }`. */
  readonly key: Columns;
  readonly to: State;
  /** Default `state`. */
  readonly column?: string;
  /** Columns to write with the move, and only with it. */
  readonly set?: Columns;
}

export interface Transitions<State extends string> {
  readonly states: readonly State[];
  allows(from: State, to: State): boolean;
  /** The states that a move to this one may come from. */
  sourcesOf(to: State): readonly State[];
  move(on: GuardExecutor, request: MoveRequest<State>): Promise<MoveResult<State>>;
}

/** `defineTransitions({ pending: ["paid", "failed"], paid: ["refunded"] })` */
export function defineTransitions<const Table extends Moves>(moves: Table): Transitions<StateOf<Table>> {
  type State = StateOf<Table>;
  const states = [...new Set([...Object.keys(moves), ...Object.values(moves).flat()])] as State[];
  const sources = new Map(states.map((to) => [to, states.filter((from) => moves[from]?.includes(to) === true)]));
  const loop = states.find((state) => moves[state]?.includes(state) === true);
  if (loop !== undefined) {
    throw new IchidoError(
      "option-invalid",
      `transitions: ${JSON.stringify(loop)} leads to itself, so "applied" and "already" could not be told apart`,
    );
  }

  return {
    states,
    allows: (from, to) => moves[from]?.includes(to) === true,
    sourcesOf: (to) => sources.get(to) ?? [],
    async move(on, request) {
      knownOptions("move", request, { table: true, key: true, to: true, column: true, set: true });
      const { table, key, to, column = "state", set = {} } = request;
      requireSome(key, "key");
      const from = sources.get(to);
      if (from === undefined) {
        throw new IchidoError(
          "usage-invalid",
          `transitions: ${JSON.stringify(to)} is no state of ${states.join(", ")}`,
        );
      }
      if (from.length > 0) {
        const update = statementOn(on);
        const assigned = update.assign({ [column]: to, ...set });
        const where = update.allEqual(key);
        const allowed = from.map((state) => update.bind(state)).join(", ");
        const affected = await update.change(
          `UPDATE ${update.name(table)} SET ${assigned} WHERE ${where} AND ${update.name(column)} IN (${allowed})`,
        );
        if (affected > 0) return { outcome: "applied" };
      }
      const look = statementOn(on);
      const row = await look.look(
        `SELECT ${quotedName(on, column)} AS found FROM ${look.name(table)} WHERE ${look.allEqual(key)}${locking(on)}`,
      );
      if (row === undefined) return { outcome: "absent" };
      const state = String(row.found);
      return state === to ? { outcome: "already" } : { outcome: "illegal", state };
    },
  };
}
