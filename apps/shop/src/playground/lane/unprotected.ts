/** The lane without protection. Beside it, `protected.ts`: what differs is all that differs. */
import { startLane } from "./lane.ts";
import { takePayment } from "./take-payment.ts";

await startLane("unprotected", (app, parts) => {
  app.post("/payments", takePayment(parts));
});
