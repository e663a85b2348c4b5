import { describeStores, makePostgresJs } from "./postgres-subjects.ts";
import { postgresUrl } from "../support/services.ts";

await describeStores(await postgresUrl(), [
  { name: "postgres, postgres.js, grouped", make: makePostgresJs },
  {
    name: "postgres, postgres.js, one by one, listening",
    make: makePostgresJs,
    options: { group: false, listen: true },
  },
]);
