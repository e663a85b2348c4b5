/** `ichido/console`: see every key, settle what is open, in a browser. */
export { console, type Console } from "./console.ts";
export type { Permission } from "./contract.ts";
export { loopbackOnly } from "./loopback.ts";
export type { Authorized, ConsoleEngine, ConsoleInbox, ConsoleOptions, ConsoleOutbox, ConsoleUser } from "./options.ts";
