/** The client in a page: the key is made with the page's intent, the button sends it. */
import { browserStorage, createClient, tabStorage } from "ichido/client";

const search = new URLSearchParams(location.search);
const client = createClient({
  baseUrl: search.get("api") ?? location.origin,
  storage: search.get("storage") === "browser" ? browserStorage() : tabStorage(),
  retry: { backoffMs: 50, backoffMsMax: 500, deadlineMs: 20_000 },
});
const cart = { id: search.get("cart"), amount: 100 };
const outcome = document.querySelector("#outcome") as HTMLElement;
const attempt = client.createAttempt(`checkout:${cart.id}`, cart);

async function pay(): Promise<void> {
  const result = await client.post(`${search.get("path") ?? "/payments"}?cart=${cart.id}`, {
    attempt: await attempt,
    json: cart,
  });
  outcome.textContent += `${result.kind}${result.kind === "done" && result.replayed ? " (replayed)" : ""};`;
}

document.querySelector("#pay")?.addEventListener("click", () => void pay());
void attempt.then(({ resumed }) => {
  document.body.dataset["ready"] = resumed ? "resumed" : "new";
});
