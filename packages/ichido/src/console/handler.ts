/** One request to a console: who asks, may they, is it the console's own page; then the route, or the page itself. */
import { isDefect } from "../core/contract/errors.ts";
import { warnUser } from "../core/contract/runtime.ts";
import { addressOf } from "./address.ts";
import { Body } from "./body.ts";
import { may, type Asked, type ConsoleParts } from "./parts.ts";
import { storeProblem } from "./gate.ts";
import { permissions, type ConsoleUser } from "./options.ts";
import { isForeign, isOwnPage, type HeaderOf } from "./origin.ts";
import { Problem } from "./problem.ts";
import { parametersOf, Query } from "./query.ts";
import { assetResponse, deniedPage, guardedResponse, jsonResponse, problemResponse, redirect } from "./responses.ts";
import { findRoutes, type Found, type Route } from "./routes.ts";

/** A request as every framework can give it. */
export interface Incoming {
  readonly method: string;
  /** The address as the framework has it, with its query. */
  readonly url: string;
  /** What of the path belongs to the mount, where the framework has not stripped it. */
  readonly mount: string;
  /** The whole path as it was asked for, where that is known: tells whether it ends with a slash. */
  readonly originalPath: string;
  readonly header: HeaderOf;
  /** The parsed body where something parsed it, else its text. */
  readonly body: () => Promise<unknown>;
  /** The framework's own request, for `authorize`. */
  readonly native: unknown;
  /** Aborted when the caller has left, where an answer's stream is not told so. */
  readonly left?: AbortSignal;
}

const userLengthMax = 200;

const howTo =
  "Nobody is let in: this console was mounted without the option authorize. Give it a function that tells who asks and " +
  'what they may do: console(ichido, { authorize: (req) => req.user && { user: req.user.name, can: ["read"] } }).';

async function userOf({ settings }: ConsoleParts, native: unknown): Promise<ConsoleUser> {
  if (settings.authorize === undefined) throw new Problem("denied", howTo);
  const answer: unknown = await settings.authorize(native as never);
  const { user, can } = Object(answer) as { readonly user?: unknown; readonly can?: unknown };
  const isUser = typeof user === "string" && user.trim() !== "" && user.length <= userLengthMax;
  if (!isUser || !Array.isArray(can)) throw new Problem("denied", "You are not let in here.");
  return { user, can: permissions.filter((permission) => can.includes(permission)) };
}

/** In this order: what is missing most is told first, and nothing is read before it is allowed. */
function check(parts: ConsoleParts, user: ConsoleUser, { method, needs }: Route, header: HeaderOf): void {
  if (needs !== undefined && !user.can.includes(needs))
    throw new Problem("not-permitted", `This needs the permission ${needs}, which you do not have.`, { needs });
  if (method === "GET") return;
  if (parts.settings.readOnly) throw new Problem("read-only", "This console is read-only.");
  if (!isOwnPage(header)) throw new Problem("cross-site", "This did not come from the console's own page.");
  if (!parts.tokens.accepts(header("x-ichido-token"), user.user)) {
    throw new Problem(
      "token",
      "The token is missing, not yours or over; load the page again. Several processes need one operationIdSecret.",
    );
  }
  if (needs === undefined || !may({ parts, user }, needs)) throw new Problem("not-permitted", "This is not permitted.");
}

function chosen(found: readonly Found[], method: string): Found {
  const [first] = found;
  if (first === undefined) throw new Problem("not-found", "There is no such route.");
  const match = found.find(({ route }) => route.method === method);
  if (match === undefined) throw new Problem("method", `${first.route.path} takes ${first.route.method}.`);
  return match;
}

async function bodyOf(incoming: Incoming): Promise<unknown> {
  if (!/^application\/json\b/i.test(incoming.header("content-type") ?? ""))
    throw new Problem("body", "content-type: expected application/json");
  const given = await incoming.body();
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given) as unknown;
  } catch {
    throw new Problem("body", "expected JSON");
  }
}

async function answer(
  parts: ConsoleParts,
  user: ConsoleUser,
  found: Found,
  incoming: Incoming,
  search: URLSearchParams,
) {
  const { route, named } = found;
  check(parts, user, route, incoming.header);
  const parameters = parametersOf(search, incoming.header("x-ichido-query"));
  const asked: Asked = {
    parts,
    user,
    header: incoming.header,
    left: incoming.left,
    named,
    query: (...names) => new Query(parameters, names),
    async body(...names) {
      // A write has no parameters: what is meant stands in its body alone.
      void new Query(parameters, []);
      return new Body(await bodyOf(incoming), names);
    },
  };
  const made = await route.answer(asked);
  return made instanceof Response ? guardedResponse(made) : jsonResponse(made);
}

function page(path: string, incoming: Incoming): Response {
  if (incoming.method !== "GET" && incoming.method !== "HEAD") throw new Problem("method", "The page takes GET.");
  if (path === "" && !incoming.originalPath.endsWith("/")) {
    // Relative addresses of the page need the slash; a relative location holds behind a proxy that adds a path.
    return redirect(`${incoming.originalPath.split("/").at(-1) ?? ""}/`);
  }
  const response = assetResponse(path, incoming.header);
  if (response === undefined) throw new Problem("not-found", "There is no such page.");
  return response;
}

/** The path below the mount without its slash; undefined where it is not below it. */
function pathBelow(pathname: string, mount: string): string | undefined {
  if (pathname !== mount && !pathname.startsWith(`${mount}/`)) return undefined;
  return pathname.slice(mount.length + 1);
}

export async function handle(parts: ConsoleParts, incoming: Incoming): Promise<Response | undefined> {
  const { path: asked, search } = addressOf(incoming.url);
  const path = pathBelow(asked, incoming.mount);
  if (path === undefined) return undefined;
  const isApi = path === "api" || path.startsWith("api/");
  try {
    if (isApi && isForeign(incoming.header))
      throw new Problem("cross-site", "This did not come from the console's own page.");
    const user = await userOf(parts, incoming.native);
    if (!isApi) return page(path, incoming);
    return await answer(parts, user, chosen(findRoutes(path), incoming.method), incoming, search);
  } catch (error) {
    const problem = storeProblem(error);
    // A fault of the program, not of the store: somebody must learn of it.
    if (isDefect(error)) warnUser(`the console failed: ${error.stack ?? error.message}`, "console-failed");
    return isApi ? problemResponse(problem) : deniedPage(problem);
  }
}
