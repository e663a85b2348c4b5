/** An amount in minor units, as people read it. */
export function money(amount: number, currency: string): string {
  // A space that does not break.
  return `${(amount / 100).toFixed(2)}\u00a0${currency}`;
}
