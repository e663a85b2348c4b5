declare module "express4" {
  import express from "express";
  export default express;
}

declare module "on-finished" {
  import type { ServerResponse } from "node:http";
  export default function onFinished(response: ServerResponse, listener: () => void): ServerResponse;
}
