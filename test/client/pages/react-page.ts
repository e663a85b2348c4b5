/** The hook in a page, as an application would use it. */
import * as React from "react";
import { createRoot } from "react-dom/client";
import { browserStorage, createClient, tabStorage } from "ichido/client";
import { fromReact } from "ichido/react";

const { createElement: h, useState } = React;
const { useAttempt, IdempotencyField } = fromReact(React);
const search = new URLSearchParams(location.search);
const client = createClient({
  baseUrl: location.origin,
  storage: search.get("storage") === "browser" ? browserStorage() : tabStorage(),
  retry: { backoffMs: 50, backoffMsMax: 500, deadlineMs: 20_000 },
});

function Checkout(): React.ReactElement {
  const [amount, setAmount] = useState(100);
  const cart = { id: search.get("cart"), amount };
  const [seen, setSeen] = useState<readonly string[]>([]);
  const [orders, setOrders] = useState(0);
  const pay = useAttempt(
    `checkout:${cart.id}`,
    cart,
    (attempt) => client.post(`/payments?cart=${cart.id}`, { attempt, json: cart }),
    { client },
  );
  if (seen.at(-1) !== pay.status) setSeen([...seen, pay.status]);
  const label = { idle: "Pay", sending: "Paying…", retrying: "Still trying…", unknown: "Check payment", done: "Paid" };
  return h(
    "main",
    null,
    h("h1", null, `Cart ${cart.id}: ${amount}`),
    // Not disabled while busy on purpose: the hook alone must stop a second click.
    h("button", { id: "pay", onClick: () => void pay.run() }, label[pay.status as keyof typeof label] ?? "Try again"),
    h("button", { id: "more", onClick: () => setAmount(amount + 100) }, "Change the amount"),
    h("button", { id: "over", onClick: () => void pay.startOver() }, "Start over"),
    h("p", { id: "status" }, pay.status),
    h("p", { id: "result" }, pay.result?.kind === "done" ? `done${pay.result.replayed ? " replayed" : ""}` : ""),
    h("p", { id: "seen" }, seen.join(" ")),
    h("p", { id: "error" }, pay.error instanceof Error ? pay.error.message : ""),
    h("form", { id: "form" }, h(IdempotencyField, { after: orders })),
    h("button", { id: "next", onClick: () => setOrders(orders + 1) }, "Next order"),
  );
}

function Shop(): React.ReactElement {
  const [isAway, setAway] = useState(false);
  const away = h("button", { id: "away", onClick: () => setAway(!isAway) }, "Another page");
  return h("div", null, away, isAway ? null : h(Checkout));
}

createRoot(document.querySelector("#root") as HTMLElement).render(h(React.StrictMode, null, h(Shop)));
