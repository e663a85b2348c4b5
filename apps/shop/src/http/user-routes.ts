/** `/users`: nobody overwrites what they have not seen (RFC 9110 section 13, RFC 6585). */
import { Router, type Request, type Response } from "express";
import type { Ichido, RouteOptions } from "ichido";
import { idempotency } from "ichido/express";
import { checkPreconditions, etagOfVersion } from "ichido/guards";
import type { Database, Sql } from "../database/database.ts";
import { checkUser, checkUserPatch } from "../users/user-input.ts";
import { findUser, merge, writeUser, type User, type UserDocument, type UserName } from "../users/user.ts";
import { sendAnswer, type Answer } from "./answer.ts";
import { caller } from "./authentication.ts";
import { inputOf, jsonBody } from "./json-body.ts";
import { dawdle, type KeyedWrites } from "./keyed.ts";
import { idOf } from "./path-id.ts";
import { allow, ShopError } from "./problems.ts";

const PATH = "/:userId";

export interface UserRouteOptions {
  readonly ichido: Ichido<Request>;
  readonly database: Database;
  readonly writes: KeyedWrites;
  readonly handlerDelayMs: number;
}

/** The change demands the version that its caller saw, so another attempt changes nothing twice. */
export const userPatchOperation: RouteOptions<Request> = {
  operation: "user.patch",
  profile: "ietf",
  required: false,
  onUnknown: "rerun",
};

export function userRoutes({ ichido, database, writes, handlerDelayMs }: UserRouteOptions): Router {
  const { direct, transactions } = database;
  const router = Router();

  router.get(PATH, async (request, response) => {
    const user = await findUser(direct, nameOf(request));
    if (user === undefined) throw absent();
    const etag = etagOfVersion(user.version);
    response.set({ ETag: etag, "Cache-Control": "private, no-cache" });
    if (mayProceed(request, user) === "not-modified") response.status(304).end();
    else sendAnswer(response, userAnswer(200, user));
  });

  router.put(PATH, jsonBody(checkUser), async (request: Request, response: Response) => {
    const answer = await transactions.run(async (_tx, sql) => {
      const name = nameOf(request);
      const seen = await findUser(sql, name);
      mayProceed(request, seen);
      return userAnswer(seen === undefined ? 201 : 200, await write(sql, name, seen, inputOf(request)));
    });
    sendAnswer(response, answer);
  });

  router.patch(
    PATH,
    jsonBody(checkUserPatch),
    idempotency(ichido, userPatchOperation),
    async (request: Request, response: Response) => {
      const key = request.idempotency;
      if (key === undefined) {
        sendAnswer(response, await transactions.run((_tx, sql) => patch(sql, request)));
        return;
      }
      await dawdle(handlerDelayMs);
      // A refusal is thrown, which rolls back: the condition may hold when the same key comes again.
      await writes(key, response, (sql) => patch(sql, request));
    },
  );

  router.delete(PATH, async (request, response) => {
    await transactions.run(async (_tx, sql) => {
      const name = nameOf(request);
      const seen = await findUser(sql, name);
      if (seen === undefined) throw absent();
      mayProceed(request, seen);
      await write(sql, name, seen, "delete");
    });
    response.status(204).end();
  });
  router.all(PATH, allow("GET", "HEAD", "PUT", "PATCH", "DELETE"));

  return router;
}

async function patch(sql: Sql, request: Request): Promise<Answer> {
  const name = nameOf(request);
  const seen = await findUser(sql, name);
  if (seen === undefined) throw absent();
  mayProceed(request, seen);
  return userAnswer(200, await write(sql, name, seen, merge(seen.document, inputOf(request)) as UserDocument));
}

async function write(
  sql: Sql,
  name: UserName,
  seen: User | undefined,
  document: UserDocument | "delete",
): Promise<User> {
  const written = await writeUser(sql, name, seen, document);
  if (written === undefined) throw new ShopError("precondition-failed", "somebody changed the user at the same moment");
  return written;
}

function mayProceed(request: Request, seen: User | undefined): "proceed" | "not-modified" {
  const { "if-match": ifMatch, "if-none-match": ifNoneMatch } = request.headers;
  const current = seen === undefined ? undefined : etagOfVersion(seen.version);
  const required = seen !== undefined;
  const { verdict } = checkPreconditions({ method: request.method, ifMatch, ifNoneMatch, current, required });
  switch (verdict) {
    case "failed":
      throw new ShopError("precondition-failed", "read the user again and send If-Match with its current strong ETag");
    case "required":
      throw new ShopError("precondition-required", "send If-Match with the ETag of the user that you saw");
    case "malformed":
      throw new ShopError("validation", "If-Match and If-None-Match take * or a list of entity tags in quotes");
    default:
      return verdict;
  }
}

function userAnswer(status: number, { userId, document, version }: User): Answer {
  const headers = { "content-type": "application/json; charset=utf-8", etag: etagOfVersion(version) };
  return { status, headers, body: { userId, ...document } };
}

function absent(): ShopError {
  return new ShopError("not-found", "no user of your tenant has this id");
}

function nameOf(request: Request): UserName {
  return { tenant: caller(request).tenant, userId: idOf(request, "userId") };
}
