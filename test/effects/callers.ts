/** Requests to an engine, as an adapter would make them, without a framework around. */
import { providedBy } from "../../packages/ichido/src/testing/provided-by.ts";
import { createIchido } from "ichido";
import type { Context, Decision, Ichido, IchidoOptions, NeutralResponse, RouteOptions } from "ichido";
import type { Side } from "./sides.ts";

export interface Caller {
  readonly ichido: Ichido;
  /** Asks for a decision only. */
  decide(key: string, route?: Partial<RouteOptions<unknown>>, body?: unknown): Promise<Decision>;
  /** Asks, runs the handler when it is to run, and returns what goes over the wire. */
  ask(key: string, handler: Handler, route?: Partial<RouteOptions<unknown>>, body?: unknown): Promise<Answer>;
}

export type Handler = (context: Context) => Promise<{ readonly status: number; readonly body?: unknown }>;

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly replayed: boolean;
  /** Of a problem. */
  readonly code: string | undefined;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export function caller(side: Side, options: Partial<IchidoOptions<unknown>> = {}): Caller {
  const ichido = createIchido({
    store: side.store,
    transactions: side.runner,
    dangerouslyShareKeys: true,
    onUnknown: "rerun",
    sweepMs: "off",
    onEvent: () => {},
    ...options,
  } as IchidoOptions<unknown>);

  const decide: Caller["decide"] = async (key, route = {}, body = { amount: 100 }) =>
    ichido.decide(
      {
        method: "POST",
        target: "/orders",
        headerLines: (name) => (name === "idempotency-key" ? [`"${key}"`] : ["application/json"]),
        body: async () => ({ kind: "bytes", bytes: encoder.encode(JSON.stringify(body)) }),
        native: undefined,
      },
      ichido.route({ operation: "order.create", ...route }),
    );

  return {
    ichido,
    decide,
    async ask(key, handler, route, body) {
      const decision = await decide(key, route, body);
      if (decision.kind === "pass") throw new Error("the request was not protected");
      if (decision.kind !== "execute") return answerOf(decision.response);
      const { execution } = decision;
      const provided = providedBy(execution).then(answerOf);
      const handled = (async (): Promise<Answer> => {
        let made: NeutralResponse;
        try {
          const { status, body: content } = await handler(execution.context);
          made = { status, headers: [], body: encoder.encode(JSON.stringify(content ?? {})) };
        } catch (error) {
          const settled = await execution.settle({ kind: "threw", error });
          if (settled.kind === "replace") return answerOf(settled.response);
          return { status: 500, text: String(error), replayed: false, code: undefined };
        }
        const settled = await execution.settle({ kind: "answered", response: made });
        return answerOf(settled.kind === "replace" ? settled.response : made);
      })();
      return Promise.race([provided, handled]);
    },
  };
}

function answerOf(response: NeutralResponse): Answer {
  const text = decoder.decode(response.body);
  const { code }: { code?: unknown } = text.startsWith("{") ? (JSON.parse(text) as object) : {};
  return {
    status: response.status,
    text,
    replayed: response.headers.some(([name, value]) => name === "idempotency-replayed" && value === "true"),
    code: typeof code === "string" ? code : undefined,
  };
}
