/** The adapter suite on every other framework. */
import { tryFramework } from "./try-framework.ts";

for (const name of ["fastify", "koa", "node", "hono", "fetch"] as const) await tryFramework(name);
