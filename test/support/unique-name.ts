import { randomBytes } from "node:crypto";

/** For a database, prefix, stream or queue on a shared server: letters, digits and underscores, never used before. */
export function uniqueName(purpose = "test"): string {
  return `ichido_${purpose}_${Date.now().toString(36)}_${randomBytes(4).toString("hex")}`;
}
