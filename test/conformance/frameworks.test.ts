/** The adapter suite on the other frameworks that write on Node's response. */
import { tryFramework } from "./try-framework.ts";

for (const name of ["fastify", "koa", "node"] as const) await tryFramework(name);
