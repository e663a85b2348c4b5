/**
 * The near end: a pool of connections to the database far away, the runner of transactions that users have on such a pool,
 * and the store. Messages may be lost either way; one that is on its way when its connection is given up still arrives.
 */
import type { ClaimRequest, CompleteRequest, Store } from "../../packages/ichido/src/core/contract/store.ts";
import type {
  TransactionHandle,
  TransactionResult,
  TransactionRunner,
} from "../../packages/ichido/src/core/contract/transaction.ts";
import { claimWithin } from "../../packages/ichido/src/stores/sqlite/claim.ts";
import { completeWithin } from "../../packages/ichido/src/stores/sqlite/owned.ts";
import type { Session } from "../../packages/ichido/src/stores/sqlite/session.ts";
import { statementsFor } from "../../packages/ichido/src/stores/sqlite/statements.ts";
import { prefixDefault } from "../../packages/ichido/src/sql/table-prefix.ts";
import { aborted, handleOf } from "../../packages/ichido/src/transactions/handle.ts";
import { pooledTransactions } from "../../packages/ichido/src/transactions/pooled.ts";
import type { Machine } from "../machine.ts";
import { bodyOf } from "./database.ts";
import type { Answer, Connection, DatabaseServer, Message, Statement } from "./server.ts";
import type { TransactionsWorld } from "./world.ts";

const statements = statementsFor(prefixDefault);

/** A connection as a driver has it: it runs what it is given, in whichever transaction it stands. */
export interface Client {
  query(statement: Omit<Statement, "verb">): Promise<TransactionResult>;
}

interface Wire extends Client {
  readonly connection: Connection;
  /** The near end has given it up. */
  isLost: boolean;
  /** Who is told when it is. */
  readonly pending: Set<(error: Error) => void>;
  /** When the message before arrives: what is sent later arrives later. */
  arrivesMs: number;
  /** The body that has spoken since BEGIN. */
  body: string | undefined;
  send(message: Message): Promise<Answer>;
}

export interface Linked {
  readonly store: Store;
  readonly transactions: TransactionRunner<Client>;
  /** Connections that are lent at this moment. */
  readonly lent: number;
}

const control: Readonly<Record<string, Message>> = {
  BEGIN: { verb: "begin" },
  COMMIT: { verb: "commit" },
  ROLLBACK: { verb: "rollback" },
};

function lost(): Error {
  return new Error("the connection was lost");
}

export function linkDatabase(world: TransactionsWorld, server: DatabaseServer, machine: Machine): Linked {
  const { scheduler, plan } = world;

  function lose(wire: Wire, seenMs: number): void {
    if (wire.isLost) return;
    wire.isLost = true;
    scheduler.at(Math.max(wire.arrivesMs, world.nowMs + seenMs), () => server.close(wire.connection));
    for (const tell of wire.pending) tell(lost());
    wire.pending.clear();
  }

  function send(wire: Wire, message: Message): Promise<Answer> {
    if (wire.isLost) return Promise.reject(lost());
    const { connection, pending } = wire;
    const isAimed = message.verb !== "execute" || message.sql === statements.complete;
    const fate = world.fateOf(machine, message.verb, isAimed);
    world.note(`${machine.name} sends ${message.verb}`);
    if (message.verb === "execute") wire.body = bodyOf(message.sql, message.values) ?? wire.body;
    else if (message.verb === "begin") wire.body = undefined;
    else if (message.verb === "commit" && wire.body !== undefined) world.commitsSent.add(wire.body);
    return new Promise((resolve, reject) => {
      pending.add(reject);
      const give = (run: () => void): void => {
        scheduler.after(fate.backMs, () => machine.deliver("reply", run));
      };
      const broken = (): void => {
        scheduler.after(fate.seenMs, () => server.close(connection));
        if (fate.tells) give(() => lose(wire, fate.seenMs));
      };
      if (message.verb === "commit" && fate.lost !== undefined) world.counts.lostCommits += 1;
      if (world.awayUntilMs > world.nowMs || fate.lost === "before") return broken();
      wire.arrivesMs = Math.max(wire.arrivesMs, world.nowMs + fate.thereMs);
      scheduler.at(wire.arrivesMs, () => {
        if (world.awayUntilMs > world.nowMs) return broken();
        server.handle(connection, message, (answer) => {
          if (fate.dies) return world.kill(machine);
          if (fate.lost === "after") return broken();
          give(() => {
            if (!pending.delete(reject)) return;
            if ("error" in answer) reject(answer.error);
            else resolve(answer);
          });
        });
      });
    });
  }

  async function query(wire: Wire, statement: Omit<Statement, "verb">): Promise<TransactionResult> {
    const answer = await wire.send({ ...statement, verb: "execute" });
    if ("error" in answer) throw answer.error;
    return answer.result;
  }

  function connect(): Wire {
    const wire: Wire = {
      connection: server.connect(machine),
      isLost: false,
      pending: new Set(),
      arrivesMs: 0,
      body: undefined,
      send: (message) => send(wire, message),
      query: (statement) => query(wire, statement),
    };
    return wire;
  }

  const idle: Wire[] = [];
  const waiting: ((wire: Wire) => void)[] = [];
  let lent = 0;

  function acquire(): Promise<Wire> {
    if (lent >= plan.poolMax) return new Promise((resolve) => waiting.push(resolve));
    lent += 1;
    return Promise.resolve(idle.pop() ?? connect());
  }

  function giveBack(wire: Wire, broken: boolean): void {
    if (broken) lose(wire, machine.random.chance(0.5) ? 0 : machine.random.between(0, 1_000));
    const next = waiting.shift();
    if (next !== undefined) return next(wire.isLost ? connect() : wire);
    lent -= 1;
    if (!wire.isLost) idle.push(wire);
  }

  function handleOn(wire: Wire): TransactionHandle {
    return handleOf({
      dialect: "sqlite",
      writesAlone: plan.locks === "file",
      inside: () => true,
      execute: (sql, values) =>
        wire.query({ sql, values }).catch((error: unknown) => {
          throw Reflect.get(Object(error), "code") === "25P02" ? aborted(error) : error;
        }),
    });
  }

  const pooled = pooledTransactions<Wire>({
    dialect: "sqlite",
    acquire,
    statement: (wire, sql) => {
      const message = control[sql];
      return message === undefined ? Promise.reject(new Error(`not known: ${sql}`)) : wire.send(message);
    },
    giveBack,
    handle: handleOn,
    environment: machine.environment,
    ...(plan.aborts
      ? {
          requireCommitted(answer: unknown) {
            if ((answer as { readonly undone?: boolean }).undone === true) throw aborted();
          },
        }
      : {}),
  });

  /** As where the connection is not the runner's own: a body can only be waited for. */
  const lasting: TransactionRunner<Wire> = {
    ...pooled,
    run: (fn, options) => pooled.run((tx, handle) => fn(tx, { ...handle, giveUp: undefined }), options),
  };

  /** A verb of the store on a connection of its own. */
  function call(verb: string, args: readonly unknown[]): Promise<unknown> {
    const fate = world.fateOf(machine, verb, verb === "landed");
    return new Promise((resolve, reject) => {
      const timer = plan.givesUp ? machine.after(plan.callMs, () => reject(lost())) : undefined;
      const give = (run: () => void): void => {
        scheduler.after(fate.backMs, () =>
          machine.deliver("reply", () => {
            timer?.cancel();
            run();
          }),
        );
      };
      const broken = (): void => {
        if (fate.tells) give(() => reject(lost()));
      };
      if (fate.lost === "before") return broken();
      scheduler.after(fate.thereMs, () => {
        if (world.awayUntilMs > world.nowMs) return broken();
        server.serve(verb, args).then(
          (value) => {
            if (fate.dies) return world.kill(machine);
            if (fate.lost === "after") return broken();
            give(() => resolve(value));
          },
          (error: unknown) => give(() => reject(error as Error)),
        );
      });
    });
  }

  const nowUs = (): number => world.databaseNowUs();
  /** For what runs on a transaction of the caller's: nothing but the clock. */
  const near = { statements, nowUs, testUs: nowUs } as unknown as Session;
  const plain = (verb: string) => (request: unknown) => call(verb, [request]) as never;
  const store = {
    name: "simulated",
    capabilities: { durable: true, shared: true, transactions: "sqlite", transactionMode: true, promise: "simulated" },
    callTimeoutMs: plan.callMs,
    claim: (request: ClaimRequest, handle?: TransactionHandle) =>
      handle === undefined ? plain("claim")(request) : claimWithin(near, request, handle),
    complete(request: CompleteRequest, handle?: TransactionHandle) {
      if (handle === undefined) return plain("complete")(request);
      world.onCompleting.get(`${request.identity.key} ${request.fence}`)?.();
      return completeWithin(near, request, handle);
    },
    ...Object.fromEntries(
      ["renew", "landed", "release", "suspend", "startStep", "finishStep", "steps", "settle", "find", "tick"].map(
        (verb) => [verb, plain(verb)],
      ),
    ),
    close: async () => undefined,
  } as unknown as Store;

  return {
    store,
    transactions: (plan.locks === "file" ? lasting : pooled) as TransactionRunner<Client>,
    get lent() {
      return lent;
    },
  };
}
