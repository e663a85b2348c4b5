import type { Running } from "../contract.ts";
import { serveFastify } from "./fastify-app.ts";

export const start = (): Promise<Running> => serveFastify();
