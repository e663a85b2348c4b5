/** The store's verbs as the engine calls them, one by one. */
import type { Store } from "ichido";
import { answer, requestFor } from "./sample.ts";

type ClaimRequest = Parameters<Store["claim"]>[0];
type CompleteRequest = Parameters<Store["complete"]>[0];

export async function claim(store: Store, key: string, retentionMs?: number): Promise<CompleteRequest> {
  const request: ClaimRequest = { ...requestFor(key), ...(retentionMs === undefined ? {} : { retentionMs }) };
  const result = await store.claim(request);
  if (result.outcome !== "granted") throw new Error(`a claim of ${key} is answered with ${result.outcome}`);
  return { ...request, fence: result.fence, response: answer };
}

export async function complete(store: Store, request: CompleteRequest): Promise<void> {
  const done = await store.complete(request);
  if (done !== "ok") throw new Error(`the completion of ${request.identity.key} is ${done}`);
}

/** Also sees to it that the answer is the one that was filled in. */
export async function replay(store: Store, key: string): Promise<void> {
  const result = await store.claim(requestFor(key));
  if (result.outcome !== "completed") throw new Error(`a replay of ${key} is answered with ${result.outcome}`);
  const { status, headers, body } = result.response;
  if (status !== answer.status || body.length !== answer.body.length || headers.length !== answer.headers.length)
    throw new Error(`a replay of ${key} has another answer`);
}

export async function write(store: Store, key: string, retentionMs?: number): Promise<void> {
  await complete(store, await claim(store, key, retentionMs));
}
