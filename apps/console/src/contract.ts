/** What the server says: its own types, and nothing else of it. */
export type * from "../../../packages/ichido/src/console/contract.ts";
