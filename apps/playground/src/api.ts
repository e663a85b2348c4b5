/** The playground's server, asked. Every number on the page comes from here. */
import type { BuyerNote } from "./buyer-note.ts";
import type { FaultName, LaneName, RunView, StateView } from "../../shop/src/playground/contract.ts";
import type { Cart } from "../../shop/src/playground/buyer.ts";

export class ApiFailure extends Error {
  readonly status: number;
  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

export async function ask<Answer>(path: string, body?: object): Promise<Answer> {
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`/playground/api/${path}`, body === undefined ? {} : sent);
  const text = await response.text();
  const answer = (text === "" ? undefined : JSON.parse(text)) as Answer & { readonly detail?: string };
  if (!response.ok) throw new ApiFailure(response.status, answer?.detail ?? response.statusText);
  return answer;
}

export const api = {
  state: () => ask<StateView>("state"),
  start: () => ask<StateView>("start", {}),
  newRun: (fault: FaultName) => ask<Cart>("runs", { fault }),
  run: (run: string) => ask<RunView>(`runs/${run}`),
  arm: (run: string, lane: LaneName) => ask(`runs/${run}/arm`, { lane }),
  disarm: (run: string, lane: LaneName) => ask(`runs/${run}/disarm`, { lane }),
  /** What the buyer did and saw, by this browser's clock. A note that is lost is only missing from the drawing. */
  note: async (run: string, note: BuyerNote): Promise<void> => {
    await ask(`runs/${run}/notes`, { ...note, atMs: Date.now() }).catch(() => undefined);
  },
};
