/** The adapter suite on NestJS, on both platforms. */
import { tryFramework } from "./try-framework.ts";

await tryFramework("nest on express");
await tryFramework("nest on fastify");
