/** The publisher's hints, over one connection for all streams. Without them the loops look by themselves. */
import type { Link, SubscriberLink } from "../../drivers/redis/link.ts";
import { wakeChannelOf } from "./layout.ts";

export function listenForWakes(link: Link, streams: readonly string[], wake: (stream: string) => void): () => void {
  const byChannel = new Map(streams.map((stream) => [wakeChannelOf(stream), stream]));
  let closed = false;
  let open: SubscriberLink | undefined;
  const listen = async (): Promise<void> => {
    const subscriber = await link.subscriber((channel) => {
      const stream = byChannel.get(channel);
      if (stream !== undefined) wake(stream);
    });
    open = subscriber;
    if (closed) return subscriber.close();
    await Promise.all([...byChannel.keys()].map((channel) => subscriber.subscribe(channel)));
  };
  listen().catch(() => undefined);
  return () => {
    closed = true;
    open?.close();
  };
}
