import type { IchidoEvent } from "../contract/events.ts";
import type { LogLevel } from "../contract/logger.ts";

/** How loud an event of the engine is in a log. What is not named here is for those who look for a fault. */
export function levelOf(event: IchidoEvent): LogLevel {
  switch (event.type) {
    case "request": {
      if (event.outcome === "store_error") return "error";
      const isOpen = event.outcome === "outcome_unknown" || event.outcome === "response_not_stored";
      return isOpen || (event.status ?? 0) >= 500 ? "warn" : "info";
    }
    case "not-stored":
      return "error";
    case "takeover":
    case "lease-lost":
    case "fence-rejected":
    case "warning":
      return "warn";
    case "reconciled":
      return event.outcome === "held" ? "warn" : "info";
    case "drained":
      return event.clean ? "info" : "warn";
    default:
      return "debug";
  }
}
