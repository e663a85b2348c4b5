/** UUID v7 from `randomUUID`, which draws its randomness in blocks: an id is made for every event. */
import { randomUUID } from "node:crypto";

export function newEventId(nowMs: number = Date.now()): string {
  const time = nowMs.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
