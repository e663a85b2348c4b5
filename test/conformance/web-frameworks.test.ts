/** The adapter suite on what returns a web `Response`; the handlers of Next.js are such functions, too. */
import { tryFramework } from "./try-framework.ts";

for (const name of ["hono", "fetch"] as const) await tryFramework(name);
