/** The lane with protection. Beside it, `unprotected.ts`: what differs is all that differs. */
import { idempotency } from "ichido/express";
import { laneEngine, paymentOperation } from "./engine.ts";
import { startLane } from "./lane.ts";
import { takePayment } from "./take-payment.ts";

await startLane("protected", async (app, parts) => {
  const ichido = await laneEngine(app, parts);
  app.post("/payments", idempotency(ichido, paymentOperation(parts)), takePayment(parts));
});
