/** `app/console/[[...path]]/route.ts`: for people on call. Who may do what is yours to say. */
import { console as ichidoConsole } from "ichido/console";
import { ichido, userOf } from "./engine.ts";

const look = ichidoConsole(ichido, {
  authorize: (request: Request) =>
    userOf(request) !== "" && { user: userOf(request), can: ["read", "settle"] as const },
  at: "/console",
});

export const GET = (request: Request): Promise<Response> => look.fetch(request);
export const POST = GET;
