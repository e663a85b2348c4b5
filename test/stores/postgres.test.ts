import { describeStores, makeClient, makePipelineClient, makePool } from "./postgres-subjects.ts";
import { postgresUrl } from "../support/services.ts";

await describeStores(await postgresUrl(), [
  { name: "postgres, pg pool, grouped", make: makePool },
  {
    name: "postgres, pg pool, one by one, by real time",
    make: makePool,
    options: { group: false },
    movesClock: false,
    histories: 2,
  },
  {
    name: "postgres, pg pool, named statements, listening",
    make: makePool,
    options: { prepare: true, listen: true },
    histories: 2,
  },
  { name: "postgres, one pg client with pipeline, one by one", make: makePipelineClient, options: { group: false } },
  { name: "postgres, one pg client, grouped", make: makeClient, histories: 2 },
]);
