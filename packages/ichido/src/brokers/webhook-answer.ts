/** What a receiver's status means for the event and for the endpoint. */

export type WebhookVerdict =
  | { readonly kind: "sent" }
  /** This event, as it is, was refused; the endpoint works. */
  | { readonly kind: "refused"; readonly why: string }
  /** This event must wait; the endpoint works. */
  | { readonly kind: "later"; readonly why: string }
  /** The endpoint does not work, or wants to be left alone. */
  | { readonly kind: "down"; readonly why: string; readonly pauseMs?: number };

export interface WebhookAnswer {
  readonly status: number;
  readonly location: string | null;
  readonly retryAfter: string | null;
}

export function verdictOf({ status, location, retryAfter }: WebhookAnswer, wallMs: number): WebhookVerdict {
  if (status >= 200 && status <= 299) return { kind: "sent" };
  const why = `answered ${status}`;
  // If the redirection were followed, a signed event would go to an address that the answer names.
  if (status >= 300 && status <= 399)
    return {
      kind: "refused",
      why: `${why} and redirects to ${location ?? "nowhere"}; redirections are not followed, change the endpoint's address`,
    };
  switch (status) {
    case 409:
      return { kind: "later", why: `${why}: the same event is still at work there` };
    case 425:
      return { kind: "later", why };
    case 408:
      return { kind: "down", why };
    case 410:
      return { kind: "refused", why: `${why}: the endpoint is gone for good; remove it` };
    case 429:
    case 503: {
      const pauseMs = readRetryAfter(retryAfter, wallMs);
      return pauseMs === undefined ? { kind: "down", why } : { kind: "down", why, pauseMs };
    }
    default:
      return status >= 400 && status <= 499 ? { kind: "refused", why } : { kind: "down", why };
  }
}

/** Seconds, or a date of HTTP; undefined for neither. */
export function readRetryAfter(value: string | null, wallMs: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1_000;
  const dateMs = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(value) ? Date.parse(value) : NaN;
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - wallMs);
}
