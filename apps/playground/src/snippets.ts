/** A protected route for a framework, a store and a library for transactions, put together from parts that stand alone. */

export const frameworks = ["Express", "Fastify", "Hono", "Koa", "node:http"] as const;
export type Framework = (typeof frameworks)[number];

export const stores = ["SQLite", "PostgreSQL", "MySQL", "Redis"] as const;
export type StoreName = (typeof stores)[number];

const ofServers = ["Kysely", "Drizzle", "Knex", "TypeORM", "Sequelize"] as const;

/** `none`: the handler calls other services, or writes without a transaction. */
export const transactionsOf = {
  SQLite: ["none", "node:sqlite"],
  PostgreSQL: ["none", "pg", ...ofServers],
  MySQL: ["none", "mysql2", ...ofServers],
  Redis: ["none"],
} as const satisfies Readonly<Record<StoreName, readonly string[]>>;
export type Transactions = (typeof transactionsOf)[StoreName][number];

export interface Choice {
  readonly framework: Framework;
  readonly store: StoreName;
  readonly transactions: Transactions;
}

interface Part {
  readonly packages: readonly string[];
  readonly imports: readonly string[];
  readonly lines: readonly string[];
}

const URL_LINE = 'const url = process.env["DATABASE_URL"] ?? "";';

const storeParts: Readonly<Record<StoreName, Part>> = {
  SQLite: {
    packages: [],
    imports: ['import { openSqliteStore } from "ichido/sqlite";'],
    lines: ['const store = await openSqliteStore("keys.db", { migrate: true });'],
  },
  PostgreSQL: {
    packages: ["pg"],
    imports: ['import pg from "pg";', 'import { postgresStore } from "ichido/postgres";'],
    lines: [URL_LINE, "const pool = new pg.Pool({ connectionString: url });", "const store = postgresStore(pool);"],
  },
  MySQL: {
    packages: ["mysql2"],
    imports: ['import { createPool } from "mysql2/promise";', 'import { mysqlStore } from "ichido/mysql";'],
    lines: [URL_LINE, "const pool = createPool(url);", "const store = mysqlStore(pool);"],
  },
  Redis: {
    packages: ["ioredis"],
    imports: ['import { Redis } from "ioredis";', 'import { redisStore } from "ichido/redis";'],
    lines: [
      "// At most once while Redis remembers: for money, keep keys in the database that holds it.",
      'const store = redisStore(new Redis(process.env["REDIS_URL"] ?? ""));',
    ],
  },
};

type Dialect = "postgres" | "mysql";

function libraryPart(name: Transactions, dialect: Dialect): Part {
  const isPg = dialect === "postgres";
  const from = (maker: string): string => `import { ${maker} } from "ichido/transactions";`;
  switch (name) {
    case "none":
      return { packages: [], imports: [], lines: [] };
    case "node:sqlite":
      return {
        packages: [],
        imports: ['import { DatabaseSync } from "node:sqlite";', from("nodeSqliteTransactions")],
        lines: ['const transactions = nodeSqliteTransactions(new DatabaseSync("keys.db"));'],
      };
    case "pg":
      return { packages: [], imports: [from("pgTransactions")], lines: ["const transactions = pgTransactions(pool);"] };
    case "mysql2":
      return {
        packages: [],
        imports: [from("mysql2Transactions")],
        lines: ["const transactions = mysql2Transactions(pool);"],
      };
    case "Kysely":
      return {
        packages: ["kysely"],
        imports: [
          `import { Kysely, ${isPg ? "PostgresDialect" : "MysqlDialect"} } from "kysely";`,
          ...(isPg ? [] : ['import { createPool as createCallbackPool } from "mysql2";']),
          from("kyselyTransactions"),
        ],
        lines: [
          "interface Tables { payments: { id: string; amount: number } }",
          isPg
            ? "const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });"
            : "const db = new Kysely<Tables>({ dialect: new MysqlDialect({ pool: createCallbackPool(url) }) });",
          `const transactions = kyselyTransactions(db, "${dialect}");`,
        ],
      };
    case "Drizzle":
      return {
        packages: ["drizzle-orm"],
        imports: [
          'import { sql } from "drizzle-orm";',
          `import { drizzle } from "drizzle-orm/${isPg ? "node-postgres" : "mysql2"}";`,
          from("drizzleTransactions"),
        ],
        lines: [
          isPg ? "const db = drizzle(pool);" : "const db = drizzle(pool);",
          `const transactions = drizzleTransactions(db, sql, "${dialect}");`,
        ],
      };
    case "Knex":
      return {
        packages: ["knex"],
        imports: ['import knex from "knex";', from("knexTransactions")],
        lines: [
          `const db = knex({ client: "${isPg ? "pg" : "mysql2"}", connection: url });`,
          "const transactions = knexTransactions(db);",
        ],
      };
    case "TypeORM":
      return {
        packages: ["typeorm"],
        imports: ['import { DataSource } from "typeorm";', from("typeormTransactions")],
        lines: [
          `const dataSource = await new DataSource({ type: "${dialect}", url }).initialize();`,
          "const transactions = typeormTransactions(dataSource);",
        ],
      };
    case "Sequelize":
      return {
        packages: ["sequelize"],
        imports: ['import { Sequelize } from "sequelize";', from("sequelizeTransactions")],
        lines: [
          `const sequelize = new Sequelize(url, { dialect: "${dialect}" });`,
          "const transactions = sequelizeTransactions(sequelize);",
        ],
      };
  }
}

const ENGINE = (native: string, user: string): readonly string[] => [
  `const scope = (${native}) => ({ principal: ${user} }); // stands for your authentication`,
  'const ichido = createIchido({ store, scope, onUnknown: "hold" });',
];

/** Business rows and the answer in one commit. */
function committed(context: string, dialect: "postgres" | "other"): readonly string[] {
  const values = dialect === "postgres" ? "$1, $2" : "?, ?";
  return [
    `await ${context}.transaction(transactions, async (_tx, sql) => {`,
    `  await sql.execute("INSERT INTO payments (id, amount) VALUES (${values})", [id, amount]);`,
    "  return { status: 201, body: { id, amount } }; // commits with the row",
    "});",
  ];
}

interface Shell {
  readonly packages: readonly string[];
  readonly imports: readonly string[];
  readonly head: readonly string[];
  /** Where the context of the key is, in the handler. */
  readonly context: string;
  readonly send: string;
  /** After a transaction, where the framework wants something returned. */
  readonly afterwards: string;
  readonly tail: readonly string[];
}

const ID = 'import { randomUUID } from "node:crypto";';

const shells: Readonly<Record<Framework, Shell>> = {
  Express: {
    packages: ["express"],
    imports: [ID, 'import express from "express";', 'import { captureBody, idempotency } from "ichido/express";'],
    head: [
      ...ENGINE("req: express.Request", 'req.get("authorization") ?? ""'),
      "const app = express().use(captureBody(), express.json());",
      'app.post("/payments", idempotency(ichido, { operation: "payment.create" }), async (req, res) => {',
      "  const { amount } = req.body as { amount: number };",
    ],
    context: "req.idempotency",
    send: "res.status(201).json({ id, amount, reference });",
    afterwards: "",
    tail: ["});", "app.listen(3000);"],
  },
  Fastify: {
    packages: ["fastify"],
    imports: [
      ID,
      'import fastify, { type FastifyRequest } from "fastify";',
      'import { idempotency } from "ichido/fastify";',
    ],
    head: [
      ...ENGINE("request: FastifyRequest", 'request.headers.authorization ?? ""'),
      "const app = fastify();",
      "await app.register(idempotency, { ichido });",
      'const config = { idempotency: { operation: "payment.create" } };',
      'app.post<{ Body: { amount: number } }>("/payments", { config }, async (request, reply) => {',
      "  const { amount } = request.body;",
    ],
    context: "request.idempotency",
    send: "return reply.code(201).send({ id, amount, reference });",
    afterwards: "return reply;",
    tail: ["});", "await app.listen({ port: 3000 });"],
  },
  Hono: {
    packages: ["hono", "@hono/node-server"],
    imports: [
      ID,
      'import { serve } from "@hono/node-server";',
      'import { Hono, type Context } from "hono";',
      'import { idempotency, type IdempotencyVariables } from "ichido/hono";',
    ],
    head: [
      "type Env = { Variables: IdempotencyVariables };",
      ...ENGINE("c: Context<Env>", 'c.req.header("authorization") ?? ""'),
      "const app = new Hono<Env>();",
      'app.post("/payments", idempotency(ichido, { operation: "payment.create" }), async (c) => {',
      "  const { amount } = await c.req.json<{ amount: number }>();",
    ],
    context: "c.var.idempotency",
    send: "return c.json({ id, amount, reference }, 201);",
    afterwards: "return c.body(null);",
    tail: ["});", "serve({ fetch: app.fetch, port: 3000 });"],
  },
  Koa: {
    packages: ["koa"],
    imports: [
      ID,
      'import { json } from "node:stream/consumers";',
      'import Koa from "koa";',
      'import { idempotency, type IdempotencyState } from "ichido/koa";',
    ],
    head: [
      ...ENGINE("ctx: Koa.Context", 'ctx.get("authorization")'),
      "const app = new Koa<IdempotencyState>();",
      'app.use(idempotency<Koa.Context>(ichido, { operation: "payment.create" }));',
      "app.use(async (ctx) => {",
      "  const { amount } = (await json(ctx.req)) as { amount: number };",
    ],
    context: "ctx.state.idempotency",
    send: "Object.assign(ctx, { status: 201, body: { id, amount, reference } });",
    afterwards: "",
    tail: ["});", "app.listen(3000);"],
  },
  "node:http": {
    packages: [],
    imports: [
      ID,
      'import { createServer, type IncomingMessage } from "node:http";',
      'import { json } from "node:stream/consumers";',
      'import { idempotent } from "ichido/node";',
    ],
    head: [
      ...ENGINE("request: IncomingMessage", 'request.headers.authorization ?? ""'),
      'const pay = idempotent(ichido, { operation: "payment.create" }, async (request, response, key) => {',
      "  const { amount } = (await json(request)) as { amount: number };",
    ],
    context: "key",
    send: 'response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ id, amount, reference }));',
    afterwards: "",
    tail: ["});", "createServer((request, response) => void pay(request, response)).listen(3000);"],
  },
};

function bodyOf({ transactions, store }: Choice, { context, send, afterwards }: Shell): readonly string[] {
  const lines = ["const id = randomUUID();"];
  if (transactions === "none") {
    lines.push(
      `const reference = ${context}?.reference("bank.charge"); // for your bank: the same in every attempt`,
      send,
    );
  } else {
    const isPg = store === "PostgreSQL";
    // Hono's is always there; elsewhere it is absent where the key is optional.
    if (context !== "c.var.idempotency") lines.push(`if (!${context}) throw new Error("no key");`);
    lines.push(...committed(context, isPg ? "postgres" : "other"));
    if (afterwards !== "") lines.push(afterwards);
  }
  return lines.map((line) => `  ${line}`);
}

export function serverOf(choice: Choice): string {
  const shell = shells[choice.framework];
  const store = storeParts[choice.store];
  const library = libraryPart(choice.transactions, choice.store === "MySQL" ? "mysql" : "postgres");
  const imports = [...shell.imports, ...store.imports, ...library.imports, 'import { createIchido } from "ichido";'];
  const body = [...shell.head, ...bodyOf(choice, shell), ...shell.tail];
  return [...imports, "", ...store.lines, ...library.lines, ...body, ""].join("\n");
}

/** What names the package, or is there for it alone. */
const FOR_PROTECTION = /ichido|idempoten|captureBody|const scope\b|Store\(|\btransactions\b|const reference\b|no key/i;

/** Of a line of a server: it would not be there, or not so, without protection. */
export function isForProtection(line: string): boolean {
  return FOR_PROTECTION.test(line);
}

export function installOf(choice: Choice): string {
  const library = libraryPart(choice.transactions, choice.store === "MySQL" ? "mysql" : "postgres");
  const packages = [...shells[choice.framework].packages, ...storeParts[choice.store].packages, ...library.packages];
  return `npm install ichido ${packages.join(" ")}`.trimEnd();
}

const schemes: Readonly<Record<StoreName, string>> = {
  SQLite: "keys.db",
  PostgreSQL: '"$DATABASE_URL"',
  MySQL: '"$DATABASE_URL"',
  Redis: '"$REDIS_URL"',
};

export function migrateOf({ store }: Choice): string {
  return store === "Redis" ? "" : `npx ichido migrate --store ${schemes[store]}`;
}

const dialects = { SQLite: "sqlite", PostgreSQL: "postgres", MySQL: "mysql" } as const;
const tools: Partial<Record<Transactions, string>> = { Drizzle: "drizzle", Knex: "knex" };

/** The tables as files, for a project whose database is migrated by one tool alone. */
export function exportOf({ store, transactions }: Choice): string {
  if (store === "Redis") return "";
  return `npx ichido export --for ${tools[transactions] ?? "sql"} --dialect ${dialects[store]} --out migrations`;
}

export function checkOf({ store }: Choice): string {
  return `npx ichido doctor --store ${schemes[store]}`;
}

/** What this page showed, as a test: two requests with one key at once. */
export const testText = `import { randomUUID } from "node:crypto";
import { strictEqual } from "node:assert/strict";
import { test } from "node:test";

test("two clicks, one payment", async () => {
  const headers = {
    authorization: "Bearer ann-token",
    "content-type": "application/json",
    "idempotency-key": randomUUID(),
  };
  const pay = () => fetch("http://localhost:3000/payments", { method: "POST", headers, body: '{"amount":4200}' });
  const isReplay = (answer: Response) => answer.headers.get("idempotency-replayed") === "true";
  const answers = await Promise.all([pay(), pay()]);
  strictEqual(answers.filter((answer) => answer.status === 201 && !isReplay(answer)).length, 1); // one ran
  const replay = await pay();
  strictEqual(isReplay(replay), true); // and everybody else gets its answer
});
`;

export const choices: readonly Choice[] = frameworks.flatMap((framework) =>
  stores.flatMap((store) => transactionsOf[store].map((transactions) => ({ framework, store, transactions }))),
);
