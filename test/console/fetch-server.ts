/** A server of `(Request) => Response`, as Next.js and its like serve a route, with the console beside it. */
import { serve } from "@hono/node-server";
import { createIchido } from "ichido";
import { console as ichidoConsole } from "ichido/console";
import { idempotent } from "ichido/fetch";
import { memoryStore } from "ichido/memory";

const userOf = (request: Request): string => (request.headers.get("authorization") === "Bearer ann-token" ? "ann" : "");

const ichido = createIchido({
  store: memoryStore(),
  scope: (request: Request) => ({ principal: userOf(request) }),
  onUnknown: "hold",
});
const pay = idempotent(ichido, { operation: "payment.create" }, () => Response.json({ id: 1 }, { status: 201 }));
const authorize = (request: Request) =>
  userOf(request) !== "" && { user: userOf(request), can: ["read", "settle"] as const };
const look = ichidoConsole(ichido, { authorize, at: "/console" });

serve(
  {
    fetch: (request) => (new URL(request.url).pathname === "/payments" ? pay(request) : look.fetch(request)),
    port: 0,
    hostname: "127.0.0.1",
  },
  (address) => console.log(`listening on ${JSON.stringify(address)}`),
);
