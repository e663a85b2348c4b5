/** `ichido-express` with the attempt log switched off. */
import type { Running, Settings } from "../contract.ts";
import { startIchido } from "./ichido-express.ts";

export const start = (settings: Settings): Promise<Running> => startIchido(settings, { attemptLog: false });
