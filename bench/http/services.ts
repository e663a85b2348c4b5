/** Where a server's keys live. */
import type { Server } from "./catalogue.ts";

export interface Place {
  readonly url: string;
  /** Of the store's server, where it is ours to look at. */
  readonly pid?: number | undefined;
}

export async function placeOf(_server: Server): Promise<Place> {
  return { url: "" };
}
