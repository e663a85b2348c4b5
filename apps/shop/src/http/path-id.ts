/** Ids in a path. */
import type { Request } from "express";
import { isText } from "../input.ts";
import { ShopError } from "./problems.ts";

const ID_CHARACTERS_MAX = 64;

export function idOf(request: Request, name: string): string {
  const id: unknown = request.params[name];
  if (isText(id, ID_CHARACTERS_MAX)) return id;
  throw new ShopError("validation", `${name} must have 1 to ${ID_CHARACTERS_MAX} characters, none of them NUL`);
}

/** Ids that the shop made: nothing else can be found. */
export function uuidOf(request: Request, name: string): string {
  const id = String(request.params[name]);
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return id;
  throw new ShopError("not-found", `${name} is not an id that this shop made`);
}
