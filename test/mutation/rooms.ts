/** What is mutated, by which tests it must be noticed, and how much of it at least. */
export interface Room {
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** Per cent. */
  readonly scoreMin: number;
  /** Processes at a time, where most of them wait. */
  readonly concurrency?: number;
}

const source = "packages/ichido/src";

/** A line each. */
export const rooms: Readonly<Record<string, Room>> = {
  "record-machine": {
    mutate: [`${source}/core/record-machine/*.ts`],
    tests: [`${source}/core/record-machine/*.test.ts`],
    scoreMin: 85,
  },
  engine: {
    mutate: [`${source}/core/engine/*.ts`],
    tests: [`${source}/core/engine/*.test.ts`],
    scoreMin: 75,
  },
  client: {
    mutate: [`${source}/client/*.ts`],
    tests: [
      `${source}/client/*.test.ts`,
      "test/client/client.test.ts",
      "test/client/fetch.test.ts",
      "test/client/kept-attempts.test.ts",
      "test/client/remembered.test.ts",
      "test/client/file-storage.test.ts",
    ],
    scoreMin: 75,
    concurrency: 4,
  },
};

/** Tells Vitest's configuration, which Stryker loads in processes of its own, which room it is. */
export const roomVariable = "ICHIDO_MUTATION_ROOM";
