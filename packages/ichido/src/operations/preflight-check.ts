/**
 * Whether a page of another origin may send a key and see that an answer is a replay. Asked as a browser asks, by OPTIONS
 * and by GET: neither has an effect.
 */
import { findingOf, type Finding } from "../core/contract/finding.ts";
import type { Preflight } from "./doctor-parts.ts";

const timeoutMs = 5_000;
const sent = "idempotency-key";
const marker = "idempotency-replayed";

function names(answer: Response, header: string, name: string): boolean {
  const listed = (answer.headers.get(header) ?? "").split(",").map((each) => each.trim().toLowerCase());
  return listed.includes(name) || listed.includes("*");
}

async function ask(url: string, method: string, headers: Readonly<Record<string, string>>): Promise<Response> {
  const answer = await fetch(url, { method, headers, redirect: "manual", signal: AbortSignal.timeout(timeoutMs) });
  await answer.body?.cancel();
  return answer;
}

function allows(answer: Response, origin: string): boolean {
  return ["*", origin].includes(answer.headers.get("access-control-allow-origin") ?? "");
}

function refusalOf(answer: Response, { url, origin }: Preflight): Finding | undefined {
  if (!answer.ok || !allows(answer, origin)) {
    const what = `OPTIONS ${url} from ${origin} is answered with ${answer.status} and no Access-Control-Allow-Origin for it`;
    return findingOf("preflight-refused", what, `Access-Control-Allow-Origin: ${origin}`);
  }
  if (names(answer, "access-control-allow-headers", sent)) return undefined;
  const what = `OPTIONS ${url} from ${origin} does not allow Idempotency-Key: browsers then send no such request`;
  return findingOf("preflight-refused", what, "Access-Control-Allow-Headers: Content-Type, Idempotency-Key");
}

/** Where GET is not answered for other origins, only the route itself could tell. */
function hidden(preflight: Response, plain: Response, { url, origin }: Preflight): Finding | undefined {
  const isExposed = [preflight, plain].some((each) => names(each, "access-control-expose-headers", marker));
  if (isExposed || !allows(plain, origin)) return undefined;
  const what = `answers of ${url} to ${origin} do not expose Idempotency-Replayed: pages cannot tell a replay`;
  const remedy = "Access-Control-Expose-Headers: Idempotency-Replayed, Idempotency-Stored, Retry-After, Location";
  return findingOf("cors-not-exposed", what, remedy);
}

export async function checkPreflight(asked: Preflight): Promise<readonly Finding[]> {
  const { url, origin, method = "POST" } = asked;
  try {
    const preflight = await ask(url, "OPTIONS", {
      origin,
      "access-control-request-method": method,
      "access-control-request-headers": `content-type,${sent}`,
    });
    const plain = await ask(url, "GET", { origin });
    return [refusalOf(preflight, asked), hidden(preflight, plain, asked)].filter((each) => each !== undefined);
  } catch {
    const remedy = "start the service, or correct the address";
    return [findingOf("address-unreachable", `${url} was not answered`, remedy)];
  }
}
