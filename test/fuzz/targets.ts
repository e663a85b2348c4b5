/** Every kind of input, in the order in which they are tried. */
import { chunkedRequests } from "./chunked-requests.ts";
import { contentCodings } from "./content-codings.ts";
import { damagedPostgres } from "./damaged-postgres.ts";
import { damagedRedis } from "./damaged-redis.ts";
import { damagedSqlite } from "./damaged-sqlite.ts";
import { foreignKeys } from "./foreign-keys.ts";
import { formBodies } from "./form-bodies.ts";
import { headerLines } from "./header-lines.ts";
import { hostileRequests } from "./hostile-requests.ts";
import { inheritedNamesEverywhere, storedTexts } from "./inherited-names.ts";
import { jsonBodies } from "./json-bodies.ts";
import { keyFlood } from "./key-flood.ts";
import { multipartBodies } from "./multipart-bodies.ts";
import { replayedLines } from "./replayed-lines.ts";
import { replayedWire } from "./replayed-wire.ts";
import type { Target } from "./target.ts";

export const targets: readonly Target[] = [
  headerLines,
  jsonBodies,
  formBodies,
  multipartBodies,
  contentCodings,
  chunkedRequests,
  damagedSqlite,
  damagedRedis,
  damagedPostgres,
  storedTexts,
  replayedLines,
  replayedWire,
  inheritedNamesEverywhere,
  hostileRequests,
  keyFlood,
  foreignKeys,
];
