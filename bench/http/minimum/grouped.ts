/** Calls of one tick, and those that come while a group is under way, travel together. */
export function grouped<In, Out>(
  send: (all: readonly In[]) => Promise<readonly Out[]> | readonly Out[],
): (one: In) => Promise<Out> {
  interface Call {
    readonly one: In;
    readonly resolve: (out: Out) => void;
    readonly reject: (error: unknown) => void;
  }
  let waiting: Call[] = [];
  let busy = false;

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      const group = waiting;
      waiting = [];
      try {
        const outs = await send(group.map(({ one }) => one));
        group.forEach(({ resolve }, index) => resolve(outs[index] as Out));
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    busy = false;
  }

  return (one) =>
    new Promise((resolve, reject) => {
      waiting.push({ one, resolve, reject });
      if (busy) return;
      busy = true;
      setImmediate(() => void flush());
    });
}
