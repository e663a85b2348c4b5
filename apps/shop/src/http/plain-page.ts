/** The plain page: what runs here, what it holds now, and commands to try. No script, nothing from elsewhere. */
import { createHash, randomUUID } from "node:crypto";
import type { StoreStats } from "ichido";

export interface PlainPageFacts {
  readonly origin: string;
  readonly gatewayUrl: string;
  readonly database: string;
  /** Where they are kept. */
  readonly keys: string;
  readonly demoToken: string | undefined;
  readonly records: StoreStats;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly orders: number;
}

const style = `
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif; }
body { max-width: 46rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; margin-bottom: .25rem; }
h2 { font-size: 1.1rem; margin-top: 2.2rem; }
p.lead { margin-top: 0; opacity: .8; }
dl.counts { display: grid; grid-template-columns: repeat(auto-fit, minmax(8rem, 1fr)); gap: .75rem; margin: 1rem 0; }
dl.counts div { border: 1px solid #8886; border-radius: .5rem; padding: .6rem .8rem; display: flex; flex-direction: column-reverse; }
dl.counts dt { font-size: .85rem; opacity: .75; }
dl.counts dd { margin: 0; font-size: 1.4rem; font-variant-numeric: tabular-nums; }
pre { border: 1px solid #8886; border-radius: .5rem; padding: .8rem 1rem; overflow-x: auto; font-size: .85rem; }
li { margin: .2rem 0; }
`;

/** In the page itself, so that no browser asks for one that is not there. */
const icon = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="6" fill="none" stroke="#c33" stroke-width="3"/></svg>')}`;

const styleHash = createHash("sha256").update(style).digest("base64");

export const plainPage = {
  contentSecurityPolicy: `default-src 'none'; img-src data:; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,

  render(facts: PlainPageFacts): string {
    const { origin, gatewayUrl, database, keys, demoToken, records, byStatus, orders } = facts;
    const token = demoToken ?? "$TOKEN";
    const counts: readonly (readonly [string, number])[] = [
      ["payments captured", byStatus.captured ?? 0],
      ["payments declined", byStatus.declined ?? 0],
      ["payments open", (byStatus.requested ?? 0) + (byStatus.unknown ?? 0)],
      ["orders", orders],
      ["keys stored", records.records],
      ["keys in flight", records.processing],
    ];
    return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ichido shop</title>
<link rel="icon" href="${icon}">
<style>${style}</style>
</head>
<body>
<h1>ichido shop</h1>
<p class="lead">A payment service that charges once, however often it is asked.</p>
<p>The shop keeps payments and idempotency keys; a bank, a process of its own, keeps the ledger of what was really
charged. Reload this page to see the counts move.</p>
<ul>
<li>shop: <code>${escape(origin)}</code>, payments, orders, accounts and users in ${escape(database)}</li>
<li>idempotency keys: ${escape(keys)}</li>
<li>bank: <code>${escape(gatewayUrl)}</code></li>
</ul>
<dl class="counts">
${counts.map(([name, value]) => `<div><dt>${escape(name)}</dt><dd>${value}</dd></div>`).join("\n")}
</dl>
<h2>Pay once, ask twice</h2>
<p>Paste this as it is. The first answer is 201, the second 200 with <code>Idempotency-Replayed: true</code> and the same
payment, and the ledger has one charge more.${demoToken === undefined ? " Set TOKEN to one of your own tokens first." : ""}</p>
<pre><code>${escape(commands(origin, gatewayUrl, token))}</code></pre>
<h2>More</h2>
<ul>
<li><a href="/console/">/console</a>: every key, what became of it, and what is open, for people on call</li>
<li><a href="/.well-known/idempotency">/.well-known/idempotency</a>: what is promised, machine-readable</li>
<li><a href="/openapi.json">/openapi.json</a>: the API</li>
<li><a href="/metrics">/metrics</a>, <a href="/readyz">/readyz</a>, <a href="/healthz">/healthz</a>: for operators</li>
<li><code>docs/README.md</code> of the repository: the guides; <code>apps/shop</code>: this service, to be read</li>
</ul>
</body>
</html>
`;
  },
};

function commands(origin: string, gatewayUrl: string, token: string): string {
  return `KEY=${randomUUID()}
pay() {
  curl -i ${origin}/payments \\
    -H "Authorization: Bearer ${token}" -H "Idempotency-Key: $KEY" -H "Content-Type: application/json" \\
    -d '{"bookingId":"booking-1","amount":1200,"currency":"EUR"}'
  echo
}
pay
pay
curl ${gatewayUrl}/ledger`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
