/** What is mutated, by which tests it must be noticed, and how much of it at least. */
export interface Room {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** Per cent. */
  readonly scoreMin: number;
  /** A mutant that never answers is noticed after so long: much longer than any test takes, on a busy machine too. */
  readonly testMs: number;
}

const source = "packages/ichido/src";

/** A line each. */
export const rooms: Readonly<Record<string, Room>> = {
  "record-machine": {
    mutate: [`${source}/core/record-machine/*.ts`],
    tests: [`${source}/core/record-machine/*.test.ts`],
    scoreMin: 85,
    testMs: 3_000,
  },
  engine: {
    mutate: [`${source}/core/engine/*.ts`],
    tests: [`${source}/core/engine/*.test.ts`],
    scoreMin: 75,
    testMs: 3_000,
  },
  client: {
    mutate: [`${source}/client/*.ts`],
    // Those over sockets notice more, and take too long to be run for each mutant.
    tests: [`${source}/client/*.test.ts`, "test/client/file-storage.test.ts"],
    scoreMin: 75,
    testMs: 10_000,
  },
};

/** Tells the test runner, which Stryker loads in processes of its own, which room it is. */
export const roomVariable = "ICHIDO_MUTATION_ROOM";
