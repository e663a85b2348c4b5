/** What the reader of a page has before pasting its code: their own application, and what an earlier piece of a page made. */

declare const app: import("express").Express;
declare const handler: import("express").RequestHandler;
declare const upload: { single(field: string): import("express").RequestHandler };
declare function userOf(req: import("express").Request): string;
declare function session(): Promise<{ readonly userId: string }>;
declare function createOrder(request: Request): Promise<Response>;

declare const pool: import("pg").Pool;
declare const db: import("kysely").Kysely<{ orders: { id: string; status: string } }>;
declare const dataSource: import("typeorm").DataSource;
declare const knex: import("knex").Knex;
declare const sequelize: import("sequelize").Sequelize;
declare const connection: import("@nats-io/transport-node").NatsConnection;
declare const meter: import("@opentelemetry/api").Meter;
declare const document: object;
declare const orderId: string;
declare const cart: { readonly id: string };
declare const payment: { readonly amount: number; readonly currency: string };

declare const bank: {
  charge(order: unknown, options?: { readonly reference?: string | undefined }): Promise<{ readonly id: string }>;
  findTransfer(query: {
    readonly memo: string;
    readonly signal: AbortSignal;
  }): Promise<{ readonly id: string } | undefined>;
};
declare const bankUrl: string;
declare const stripe: {
  readonly paymentIntents: {
    create(payment: unknown, options: { readonly idempotencyKey: string }): Promise<{ readonly id: string }>;
  };
};
declare function findPayment(reference: string): Promise<import("ichido").VerifyVerdict>;
declare function show(answer: unknown): void;
declare function explain(problem: unknown): void;
declare function askLater(attempt: unknown): void;
declare function log(...values: readonly unknown[]): void;

declare class PaymentsController {}
declare class DatabaseModule {}
interface CreatePayment {
  readonly amount: number;
}

/** Of whatever framework the page is about. */
// oxlint-disable-next-line no-explicit-any
declare const ichido: import("ichido").Ichido<any>;
declare const ctx: import("ichido").Context;
declare const outbox: import("ichido/outbox").Outbox<import("pg").PoolClient>;
declare const inbox: import("ichido/inbox").Inbox<import("pg").PoolClient>;
declare const relay: import("ichido/outbox").Relay;
declare const publisher: import("ichido/outbox").Publisher;
declare const consumer: import("ichido/inbox").Consumer;
declare const handlers: readonly import("ichido/inbox").ConsumerHandler<import("pg").PoolClient>[];
declare const reconciler: import("ichido").Reconciler;
declare const logger: import("ichido").Logger;
declare const subscription: import("ichido/inbox").Subscription;
declare const description: Readonly<Record<string, unknown>>;

declare module "next/server" {
  export function connection(): Promise<void>;
}
declare module "next/navigation" {
  export function redirect(url: string): never;
}
declare module "swr/mutation" {
  export default function useSWRMutation<Key, Arg, Data>(
    key: Key,
    fetcher: (key: Key, options: { readonly arg: Arg }) => Promise<Data>,
  ): { readonly trigger: (arg: Arg) => Promise<Data>; readonly isMutating: boolean; readonly data: Data | undefined };
}
