/** Ids that clients choose and put into a path. */
import type { Request } from "express";
import { isText } from "../input.ts";
import { ShopError } from "./problems.ts";

const ID_CHARACTERS_MAX = 64;

export function idOf(request: Request, name: string): string {
  const id: unknown = request.params[name];
  if (isText(id, ID_CHARACTERS_MAX)) return id;
  throw new ShopError("validation", `${name} must have 1 to ${ID_CHARACTERS_MAX} characters`);
}
