import type { Settings } from "../contract.ts";
import { openMemory } from "./memory.ts";
import type { MinimumStore } from "./minimum.ts";

export async function openMinimum({ store }: Settings): Promise<MinimumStore> {
  if (store === "memory") return openMemory();
  throw new Error(`no minimum for ${store}`);
}
