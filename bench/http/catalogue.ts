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
  /** What it does not do. */
  readonly lacks?: string;
}

type Framework = Server["framework"];

const frameworks: readonly Framework[] = ["express", "fastify", "hono"];

const bare = (framework: Framework): Server => ({
  name: `bare-${framework}`,
  file: `bare-${framework}`,
  framework,
  store: "none",
});

const on = (who: "ichido" | "minimum", framework: Framework, store: Server["store"]): Server => ({
  name: `${who}-${framework}-${store}`,
  file: `${who}-${framework}`,
  framework,
  store,
});

export const bareServers = frameworks.map(bare);

export const servers: readonly Server[] = [
  ...bareServers,
  on("ichido", "express", "memory"),
  on("minimum", "express", "memory"),
];
