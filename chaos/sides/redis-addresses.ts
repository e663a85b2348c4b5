/** Where several processes make up one Redis: their ports, as one text that fits into a setup. */
export const masterName = "chaos";

const schemes = { sentinel: "redis+sentinel:", cluster: "redis+cluster:" } as const;

const joined = (scheme: string, ports: readonly number[]): string => `${scheme}${ports.join()}`;

export const sentinelUrl = (ports: readonly number[]): string => joined(schemes.sentinel, ports);
export const clusterUrl = (ports: readonly number[]): string => joined(schemes.cluster, ports);

export interface Address {
  readonly host: string;
  readonly port: number;
}

export function addressesOf(url: string): readonly Address[] {
  const [, ports = ""] = url.split(":");
  return ports.split(",").map((port) => ({ host: "127.0.0.1", port: Number(port) }));
}
