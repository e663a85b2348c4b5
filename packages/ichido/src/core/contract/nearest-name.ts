/** Finds the name that a user misspelt. Small, because browsers download it, too. */

/** Whether at most `edits` letters added, removed or changed turn one text into the other. */
function isNear(a: string, b: string, edits: number): boolean {
  if (a === b) return true;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isNear(restA, restB, edits);
  return (
    edits > 0 &&
    [isNear(restA, restB, edits - 1), isNear(restA, b, edits - 1), isNear(a, restB, edits - 1)].includes(true)
  );
}

/** The known name that the user probably meant: it differs in at most three letters, and in at most a third of them. */
export function nearestOf(name: string, known: readonly string[]): string | undefined {
  for (let edits = 0; edits <= 3 && edits * 3 <= Math.max(3, name.length); edits += 1) {
    const found = known.find((each) => isNear(name.toLowerCase(), each.toLowerCase(), edits));
    if (found !== undefined) return found;
  }
  return undefined;
}
