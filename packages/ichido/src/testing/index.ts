export * from "./clock.ts";
export * from "./store-suite/index.ts";
