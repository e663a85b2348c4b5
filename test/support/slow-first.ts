/** Files that take longest begin first, so that none of them is alone at the end while a core stands still. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Slowest first, as the test command prints them at its end; a file that is not here comes after them. */
export const slowest: readonly string[] = [
  "test/crash/matrix.test.ts",
  "test/simulation/seeds.test.ts",
  "test/stores/postgres.test.ts",
  "test/stores/mysql.test.ts",
  "test/stores/postgres-pgbouncer.test.ts",
  "test/events/storm.test.ts",
  "test/conformance/frameworks.test.ts",
  "test/conformance/web-frameworks.test.ts",
  "test/effects/lost-commit.test.ts",
  "test/stores/redis-cluster.test.ts",
  "test/simulation/mutants.test.ts",
  "test/stores/redis.test.ts",
  "test/conformance/express.test.ts",
  "test/events/relay-crash.test.ts",
  "test/simulation/events.test.ts",
  "apps/shop/test/pay.test.ts",
  "test/stores/vectors/redis-vectors.test.ts",
  "test/stores/sqlite.test.ts",
  "test/events/rabbitmq.test.ts",
  "apps/shop/test/contract.test.ts",
  "test/stores/vectors/postgres-vectors.test.ts",
  "test/conformance/conform.test.ts",
  "test/model/record.test.ts",
  "test/events/redis-streams.test.ts",
  "test/events/inbox-too-old.test.ts",
  "test/effects/postgres-js-lost.test.ts",
  "apps/shop/test/life.test.ts",
  "apps/shop/test/one-charge.test.ts",
  "test/conformance/nest.test.ts",
  "test/crash/random-kills.test.ts",
  "test/package/package.test.ts",
  "test/stores/vectors/mysql-vectors.test.ts",
  "test/crash/postgres-network.test.ts",
];

export default class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rest = await super.sort(files);
    const place = ({ moduleId }: TestSpecification): number => {
      const found = slowest.findIndex((file) => moduleId.endsWith(file));
      return found < 0 ? slowest.length : found;
    };
    return rest.toSorted((one, other) => place(one) - place(other));
  }
}
