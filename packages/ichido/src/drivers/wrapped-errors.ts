/** What libraries wrap around a driver's error is looked through: the error itself first, then what is inside it. */
const wrapsMax = 4;

export function* errorsIn(error: unknown, depth = 0): Generator<Readonly<Record<string, unknown>>, void> {
  if (typeof error !== "object" || error === null || depth > wrapsMax) return;
  const each = error as Readonly<Record<string, unknown>>;
  yield each;
  for (const name of ["cause", "original", "driverError"]) yield* errorsIn(each[name], depth + 1);
}
