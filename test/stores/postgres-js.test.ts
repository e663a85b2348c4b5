import { describeStores, makePostgresJs } from "./postgres-subjects.ts";
import { postgresUrl } from "../support/services.ts";

await describeStores(await postgresUrl(), [
  { name: "postgres, postgres.js, grouped, listening", make: makePostgresJs, options: { listen: true }, histories: 2 },
]);
