import type { Running } from "../contract.ts";
import { serveHono } from "./hono-app.ts";

export const start = (): Promise<Running> => serveHono([]);
