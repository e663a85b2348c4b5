/** The servers that can be measured, by name. */

export interface Server {
  readonly name: string;
  /** In servers/. */
  readonly file: string;
  readonly framework: "express" | "fastify" | "hono";
  readonly store: "none" | "memory" | "sqlite" | "postgres" | "mariadb" | "redis";
  readonly grouped?: true;
  /** Where they differ from 201 and 422. */
  readonly replayStatus?: number;
  readonly mismatchStatus?: number;
  /** Another library. */
  readonly peer?: true;
  /** What a peer fails; `npm run bench:http -- --check` shows it. */
  readonly fails?: string;
}

type Framework = Server["framework"];
type Store = Server["store"];

function server(who: string, framework: Framework, store: Store, more: Partial<Server> = {}): Server {
  const name = [who, framework, ...(store === "none" ? [] : [store]), ...(more.grouped ? ["grouped"] : [])].join("-");
  return { name, file: `${who}-${framework}`, framework, store, ...more };
}

export const bareServers = (["express", "fastify", "hono"] as const).map((framework) =>
  server("bare", framework, "none"),
);

export const servers: readonly Server[] = [
  ...bareServers,
  ...(["memory", "sqlite", "postgres", "mariadb", "redis"] as const).flatMap((store) => [
    server("ichido", "express", store),
    server("minimum", "express", store),
    ...(store === "sqlite" || store === "postgres" ? [server("minimum", "express", store, { grouped: true })] : []),
  ]),
  ...(["fastify", "hono"] as const).flatMap((framework) => [
    server("ichido", framework, "memory"),
    server("minimum", framework, "memory"),
  ]),
  server("node-idempotency", "express", "memory", { peer: true, fails: "A08, A20" }),
  server("node-idempotency", "express", "redis", { peer: true, fails: "A04, A08, A20" }),
  server("express-idempotency", "express", "memory", { peer: true, mismatchStatus: 417, fails: "A08" }),
  server("idempotency-backend", "express", "memory", { peer: true, mismatchStatus: 201, fails: "A01, A08, A20" }),
];
