/** Until when a decision may be made: one that was told to have failed must not be made later. */
import { usOf } from "../../core/record-machine/record.ts";

/** Of the time that is left when the server has told its own: its answer needs some, too. */
const share = 0.8;

export function decidedUntilUs(nowUs: number, leftMs: number): number {
  return nowUs + usOf(Math.floor(leftMs * share));
}
