export * from "./clock.ts";
export * from "./store-suite/index.ts";
export * from "./child.ts";
export * from "./crash-points.ts";
export * from "./fake-provider.ts";
export * from "./fault-proxy.ts";
export * from "./faults.ts";
export * from "./adapter-suite/index.ts";
export { reapAfterDeath } from "./reaper.ts";
