/** The callers' end of the line: HTTP/1.1 or HTTP/2 to one server, as long as that server lives. */
import { Agent, request as request1 } from "node:http";
import { connect, constants, type ClientHttp2Session } from "node:http2";
import { answerMs } from "./settings.ts";
import type { Wire } from "./setup.ts";

export interface Request {
  readonly path: string;
  readonly caller: string;
  readonly key: string;
  readonly body: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

/** What befalls whoever asks: the answer arrives and is lost, or they leave before it comes. */
export type Mishap = "answer-lost" | "caller-gone";

export interface Outcome {
  readonly answer?: Answer;
  /** It happened: the answer had come, or the request was under way. */
  readonly mishap?: Mishap;
}

export interface Line {
  ask(request: Request, mishap: Mishap | undefined): Promise<Outcome>;
  close(): void;
}

const goneMs = 40;

const headersOf = ({ caller, key }: Request): Record<string, string> => ({
  "content-type": "application/json",
  authorization: caller,
  "idempotency-key": `"${key}"`,
});

function http1(port: number): Line {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    ask: (asked, mishap) =>
      new Promise((resolve) => {
        const headers = { ...headersOf(asked), "content-length": String(Buffer.byteLength(asked.body)) };
        const options = { host: "127.0.0.1", port, method: "POST", path: asked.path, headers, agent };
        const sent = request1(options, (response) => {
          if (mishap === "answer-lost") {
            resolve({ mishap });
            return void sent.destroy();
          }
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("end", () => {
            if (!response.complete) return resolve({});
            return resolve({ answer: { status: response.statusCode ?? 0, headers: response.headers, text } });
          });
          response.on("error", () => resolve({}));
        });
        const leave = (): void => {
          resolve(mishap === "caller-gone" ? { mishap } : {});
          sent.destroy();
        };
        const timer = setTimeout(leave, mishap === "caller-gone" ? goneMs : answerMs);
        sent.on("error", () => resolve({}));
        sent.on("close", () => {
          clearTimeout(timer);
          resolve({});
        });
        sent.end(asked.body);
      }),
    close: () => agent.destroy(),
  };
}

function http2(port: number): Line {
  let session: ClientHttp2Session | undefined;
  function open(): ClientHttp2Session {
    if (session === undefined || session.closed || session.destroyed) {
      session = connect(`http://127.0.0.1:${port}`);
      session.on("error", () => {});
    }
    return session;
  }
  return {
    ask: (asked, mishap) =>
      new Promise((resolve) => {
        const stream = open().request({ ":method": "POST", ":path": asked.path, ...headersOf(asked) });
        let text = "";
        let headers: Readonly<Record<string, unknown>> | undefined;
        stream.on("response", (lines) => {
          headers = lines;
          if (mishap !== "answer-lost") return;
          resolve({ mishap });
          stream.close(constants.NGHTTP2_CANCEL);
        });
        stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        stream.on("end", () => {
          if (headers === undefined || stream.rstCode !== constants.NGHTTP2_NO_ERROR) return resolve({});
          return resolve({ answer: { status: Number(headers[":status"]), headers, text } });
        });
        const leave = (): void => {
          resolve(mishap === "caller-gone" ? { mishap } : {});
          stream.close(constants.NGHTTP2_CANCEL);
        };
        const timer = setTimeout(leave, mishap === "caller-gone" ? goneMs : answerMs);
        stream.on("error", () => resolve({}));
        stream.on("close", () => {
          clearTimeout(timer);
          resolve({});
        });
        stream.end(asked.body);
      }),
    close: () => session?.destroy(),
  };
}

export const lineTo = (wire: Wire, port: number): Line => (wire === "http1" ? http1(port) : http2(port));
