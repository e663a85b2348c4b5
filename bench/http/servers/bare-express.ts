import express from "express";
import type { Running } from "../contract.ts";
import { serveExpress } from "./express-app.ts";

export const start = (): Promise<Running> => serveExpress([express.json()], []);
