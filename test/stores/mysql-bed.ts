/** A database of its own for one test, with the tables of the store, and what tests of lives that follow each other ask. */
import { setTimeout as sleep } from "node:timers/promises";
import type { MysqlStore } from "ichido/mysql";
import { sampleResponse } from "ichido/testing";
import { onTestFinished } from "vitest";
import { freshDatabase } from "../support/services.ts";
import { migrated, openClient, trustClock, type Client } from "./mysql-clients.ts";
import { granted, request } from "./mysql-life.ts";

export async function openBed(url: string) {
  const database = await freshDatabase(url);
  onTestFinished(() => database.drop());
  const client = openClient("mysql2", database.url);
  onTestFinished(() => client.end());
  return { database, client, store: await migrated(client) };
}

export async function completed(store: MysqlStore, ...asked: Parameters<typeof request>) {
  const claim = await granted(store, request(...asked));
  await store.complete({ ...claim, response: sampleResponse() });
  return claim;
}

export async function keysByLabel(store: MysqlStore, name: string, value: string): Promise<readonly string[]> {
  return (await store.list({ label: { name, value }, limit: 10 })).records.map(({ identity }) => identity.key);
}

/** Of a record that is kept for 400 ms. */
export async function pastRetention(client: Client): Promise<void> {
  await sleep(500);
  await trustClock(client);
}
