import type { Context } from "../../core/contract/context.ts";
import { idempotent } from "../../adapters/fetch.ts";
import {
  createHarness,
  type Harness,
  type HarnessAnswer,
  type HarnessCall,
} from "../../testing/adapter-suite/index.ts";
import { parseJson, pieces, type BuildApplication } from "./application.ts";
import { routeNameOf } from "./node-application.ts";
import { webListener } from "./web-listener.ts";

export function callOf({ url, method, headers }: Request, idempotency: Context | undefined): HarnessCall {
  const { pathname, search } = new URL(url);
  const header = (name: string): string | undefined => headers.get(name) ?? undefined;
  return { method, target: pathname + search, header, body: undefined, idempotency };
}

export function responseOf({ status, headers: lines, body, way }: HarnessAnswer): Response {
  const headers = new Headers();
  for (const [name, value] of lines) headers.append(name, value);
  if (way === "stream") {
    const rest = [...pieces(body)];
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = rest.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(piece);
      },
    });
    return new Response(stream, { status, headers });
  }
  return new Response(body.length === 0 ? null : new Uint8Array(body), { status, headers });
}

/** The parser in front of the routes: undefined, or the answer by which it refuses the body. */
export async function refuseBody(request: Request, jsonBytesMax: number): Promise<Response | undefined> {
  const type = request.headers.get("content-type") ?? undefined;
  if (!/json/i.test(type ?? "") || request.body === null || request.headers.has("content-encoding")) return undefined;
  if (Number(request.headers.get("content-length") ?? 0) > jsonBytesMax) return new Response(null, { status: 413 });
  try {
    parseJson(type, new Uint8Array(await request.clone().arrayBuffer()));
    return undefined;
  } catch {
    return new Response("bad JSON", { status: 400 });
  }
}

export const buildFetch: BuildApplication = async (options) => {
  const harness = createHarness<Request>(options, (request) => request.headers.get("authorization") ?? undefined);
  const routes = new Map(
    harness.routes.map(({ name, options: route }) => [
      name,
      idempotent(harness.ichido, route, async (request, idempotency) =>
        responseOf(await harness.handle(callOf(request, idempotency))),
      ),
    ]),
  );
  const listener = webListener(async (request) => {
    const route = routes.get(routeNameOf(new URL(request.url).pathname));
    if (route === undefined) return new Response(null, { status: 404 });
    return (await refuseBody(request, harness.jsonBytesMax)) ?? route(request);
  });
  return { harness: harness as unknown as Harness<never>, listener };
};
