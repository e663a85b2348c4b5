/**
 * Bytes allocated on V8's heap: what was in use before each collection less what the one before it left. V8 itself keeps no
 * such sum on the lines of Node that are supported. Buffers outside the heap are not in it.
 */
import { GCProfiler } from "node:v8";

export class AllocationMeter {
  readonly #profiler = new GCProfiler();
  readonly #startBytes: number;

  constructor() {
    this.#profiler.start();
    this.#startBytes = process.memoryUsage().heapUsed;
  }

  stop(): number {
    const endBytes = process.memoryUsage().heapUsed;
    const collections = this.#profiler.stop()?.statistics ?? [];
    let left = this.#startBytes;
    let allocated = 0;
    for (const { beforeGC, afterGC } of collections) {
      allocated += Math.max(0, beforeGC.heapStatistics.usedHeapSize - left);
      left = afterGC.heapStatistics.usedHeapSize;
    }
    return allocated + Math.max(0, endBytes - left);
  }
}
