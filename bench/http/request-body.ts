/** A JSON body of so many bytes: an order with as many lines as fit, and a note that fills the rest. */
export function requestBody(bytes: number): Buffer {
  const items: object[] = [];
  const text = (note: string): string => JSON.stringify({ amount: 100, currency: "JPY", items, note });
  while (text("").length < bytes - 60) items.push({ sku: `A-${1_000 + items.length}`, count: 1, priceMinor: 1_250 });
  return Buffer.from(text("x".repeat(Math.max(0, bytes - text("").length))));
}
