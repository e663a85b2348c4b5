// engine.ts of your application: one engine for all of its routes.
import { createIchido } from "ichido";
import { memoryStore } from "ichido/memory";

/** Stands for your session: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
export const userOf = (request: Request): string => users.get(request.headers.get("authorization") ?? "") ?? "";

export const ichido = createIchido({
  store: memoryStore(), // forgets with the process; docs/guide/stores.md has those that do not
  scope: (request: Request) => ({ principal: userOf(request) }),
  onUnknown: "hold",
});
