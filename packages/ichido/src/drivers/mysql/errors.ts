/** Errors of MySQL and MariaDB by their numbers, never by their messages. */
export const duplicateEntry = 1062;
export const noSuchSavepoint = 1305;

const wrapsMax = 4;

/** Looks through what ORMs wrap around the driver's error. */
export function hasNumber(error: unknown, wanted: number, depth = 0): boolean {
  if (typeof error !== "object" || error === null || depth > wrapsMax) return false;
  const { errno, cause, original, driverError } = error as Readonly<Record<string, unknown>>;
  return errno === wanted || [cause, original, driverError].some((inner) => hasNumber(inner, wanted, depth + 1));
}
