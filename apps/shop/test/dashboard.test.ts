/** Rules and dashboard name metrics that a running shop exports, and say what Prometheus understands. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { opsFolder, promtool, promtoolReading, withFiles } from "../../../test/ops/promtool.ts";
import { describeWith } from "../../../test/support/services.ts";
import { until } from "./support/poll.ts";
import { newFolder } from "./support/program.ts";
import { pay, send, startShop } from "./support/shop.ts";

interface Panel {
  readonly title: string;
  readonly type: string;
  readonly targets?: readonly { readonly expr: string }[];
}

const rules = readFileSync(join(opsFolder, "prometheus", "ichido.rules.yml"), "utf8");
const dashboard = JSON.parse(readFileSync(join(opsFolder, "grafana", "ichido.json"), "utf8")) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly { readonly query: string }[] };
};
const expressions = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => ({ title, expr: expr.replaceAll("$__rate_interval", "5m").replaceAll(/\$\w+/g, ".*") })),
);
const recorded = [...rules.matchAll(/- record: (\S+)/g)].map(([, name = ""]) => name);
/** Names in expressions: metrics have an underscore, recording rules a colon; neither is a label in braces. */
const namesIn = (text: string): readonly string[] => [
  ...new Set(
    text
      .replaceAll(/\{[^}]*\}/g, "")
      .replaceAll(/\b(by|on) \([^)]*\)/g, "")
      .match(/\b(idempotency|outbox|inbox|ichido)[_:][\w:]+/g) ?? [],
  ),
];

describe("rules and dashboard", () => {
  let text = "";
  beforeAll(async () => {
    const shop = await startShop({ SHOP_DATA: newFolder() });
    const key = randomUUID();
    await pay(shop, { key });
    await pay(shop, { key });
    text = await until("an answer of the scrape", async () => {
      const reply = await send(`${shop.url}/metrics`, { token: "" });
      return reply.status === 200 && reply.text;
    });
  });

  function exported(): ReadonlySet<string> {
    const names = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].flatMap(([, name = "", kind]) =>
      kind === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
    );
    return new Set(names);
  }

  it("name only metrics that a running shop exports, and rules that are recorded", () => {
    const known = new Set([...exported(), ...recorded]);
    const used = namesIn([rules, ...expressions.map(({ expr }) => expr)].join("\n").replaceAll(/^\s*#.*$/gm, ""));
    expect(used.length).toBeGreaterThan(30);
    expect(used.filter((name) => !known.has(name))).toEqual([]);
    for (const { query } of dashboard.templating.list) for (const name of namesIn(query)) expect(known).toContain(name);
  });

  it("leave out no metric that the shop exports", () => {
    const shown = new Set(namesIn([rules, ...expressions.map(({ expr }) => expr)].join("\n")));
    const unseen = [...text.matchAll(/^# TYPE (\w+) \w+$/gm)]
      .map(([, name = ""]) => name)
      .filter(
        (name) =>
          !name.startsWith("shop_") && ![name, `${name}_bucket`, `${name}_count`].some((each) => shown.has(each)),
      );
    // Whether the counting itself worked is seen by what is missing.
    expect(unseen).toEqual(["outbox_up", "inbox_up", "inbox_message_oldest_dead_seconds"]);
  });

  it("ask for samples that are there after two payments", () => {
    const samples = [
      /^idempotency_request_duration_seconds_count\{operation="payment.create",outcome="replayed",.*\} 1$/m,
      /^idempotency_store_record_count\{state="completed"\} 1$/m,
      /^idempotency_store_record_size_bytes [1-9]/m,
      /^outbox_relay_active 1$/m,
      /^inbox_message_dead 0$/m,
    ];
    for (const sample of samples) expect(text).toMatch(sample);
  });

  describeWith("promtool", "promtool", () => {
    it("takes what the shop exports, and would give one metric another name", async () => {
      const { text: told } = await promtoolReading(text, "check", "metrics");
      // As OpenTelemetry's conventions count things; older than this check, and in people's rules.
      expect(told).toMatch(/^idempotency_store_record_count [^\n]* should not have "_count" suffix\n$/);
    });

    it("takes every expression of the dashboard", async () => {
      expect(expressions.length).toBeGreaterThan(30);
      const group = {
        groups: [
          { name: "dashboard", rules: expressions.map(({ expr }, index) => ({ record: `panel:${index}`, expr })) },
        ],
      };
      const { ok, text: told } = await withFiles({ "dashboard.json": JSON.stringify(group) }, (folder) =>
        promtool("check", "rules", join(folder, "dashboard.json")),
      );
      expect(ok, told).toBe(true);
    });
  });
});
