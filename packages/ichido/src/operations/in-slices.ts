/** Many questions to a store, a few at a time: one ticket must not take every place that others wait for. */
export const atOnceMax = 20;

export async function inSlices<Item, Value>(
  items: readonly Item[],
  size: number,
  ask: (item: Item) => Promise<Value>,
): Promise<Value[]> {
  const values: Value[] = [];
  for (let at = 0; at < items.length; at += size)
    values.push(...(await Promise.all(items.slice(at, at + size).map(ask))));
  return values;
}
