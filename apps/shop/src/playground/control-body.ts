/** What a control was given, or a refusal that says what was expected. */
import type { Request } from "express";
import { ShopError } from "../http/problems.ts";

export function oneOf<const Word extends string>(request: Request, member: string, words: readonly Word[]): Word {
  const value = (request.body as Readonly<Record<string, unknown>> | undefined)?.[member];
  const found = words.find((word) => word === value);
  if (found === undefined) throw new ShopError("validation", `${member} must be one of ${words.join(", ")}`);
  return found;
}

export function whole(value: unknown, name: string, max: number): number {
  const number = Number(value);
  if (Number.isInteger(number) && number >= 1 && number <= max) return number;
  throw new ShopError("validation", `${name} must be a whole number from 1 to ${max}`);
}
