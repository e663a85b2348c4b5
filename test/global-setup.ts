import { hostVariable, startHost } from "../scripts/services/host.ts";

export default async function setup(): Promise<() => Promise<void>> {
  const host = await startHost((line) => console.log(`[services] ${line}`));
  process.env[hostVariable] = host.address;
  return () => host.close();
}
