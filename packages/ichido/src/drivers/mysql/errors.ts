/** Errors of MySQL and MariaDB by their numbers, never by their messages. */
import { errorsIn } from "../wrapped-errors.ts";

export const duplicateEntry = 1062;
export const noSuchSavepoint = 1305;

export function hasNumber(error: unknown, wanted: number): boolean {
  return [...errorsIn(error)].some(({ errno }) => errno === wanted);
}
