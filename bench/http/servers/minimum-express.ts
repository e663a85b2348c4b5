import express from "express";
import type { Running, Settings } from "../contract.ts";
import { begin, keptNames } from "../minimum/minimum.ts";
import { openMinimum } from "../minimum/open.ts";
import { serveExpress } from "./express-app.ts";

type WithBytes = express.Request & { bytes?: Buffer };

export async function start(settings: Settings): Promise<Running> {
  const store = await openMinimum(settings);
  const keepBytes = express.json({ verify: (req, _res, bytes) => void ((req as WithBytes).bytes = bytes) });
  const protect: express.RequestHandler = async (req: WithBytes, res, next) => {
    const verdict = await begin(store, req.headers, req.bytes ?? Buffer.alloc(0));
    if ("answer" in verdict) {
      const { status, headers, body } = verdict.answer;
      return void res.writeHead(status, [...headers.flat(), "content-length", String(body.length)]).end(body);
    }
    const end = res.end.bind(res) as (bytes: Buffer) => express.Response;
    res.end = ((chunk: string | Buffer) => {
      const body = Buffer.from(chunk);
      const headers = keptNames.flatMap((name) =>
        res.hasHeader(name) ? [[name, String(res.get(name))] as const] : [],
      );
      verdict.complete({ status: res.statusCode, headers, body }).then(() => end(body), next);
      return res;
    }) as typeof res.end;
    next();
  };
  return serveExpress([keepBytes], [protect]);
}
