/**
 * Loaded into every test worker. A worker whose runner was killed would wait for the next order for ever, and keep alive
 * what its tests had started: it ends with the runner instead.
 */
process.once("disconnect", () => process.exit(1));
