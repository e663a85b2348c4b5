/** The two banks: one honours references, the other takes every call for a new one. */
import { setTimeout as sleep } from "node:timers/promises";
import { bankMs } from "./settings.ts";
import { fakeProvider, type Charge, type FakeProvider } from "../packages/ichido/src/testing/fake-provider.ts";

/** Longer than its caller waits. */
const slowMs = 2 * bankMs;
const portTries = 100;
const portAgainMs = 100;

/** Between the end of one and the start of the next somebody may have used the port for a moment. */
async function reopened(port: number, dedupes: boolean): Promise<FakeProvider> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await fakeProvider({ port, dedupes, slowMs });
    } catch (error) {
      if (tries === portTries) throw error;
      await sleep(portAgainMs);
    }
  }
}

export class Banks {
  honest: FakeProvider;
  deaf: FakeProvider;

  private constructor(honest: FakeProvider, deaf: FakeProvider) {
    this.honest = honest;
    this.deaf = deaf;
  }

  static async open(): Promise<Banks> {
    return new Banks(await fakeProvider({ slowMs }), await fakeProvider({ dedupes: false, slowMs }));
  }

  get both(): readonly FakeProvider[] {
    return [this.honest, this.deaf];
  }

  charges(): readonly Charge[] {
    return this.both.flatMap((bank) => bank.ledger());
  }

  /** New ledgers, at the same addresses. */
  async renew(): Promise<void> {
    await this.close();
    this.honest = await reopened(this.honest.port, true);
    this.deaf = await reopened(this.deaf.port, false);
  }

  async close(): Promise<void> {
    for (const bank of this.both) await bank.close();
  }
}
