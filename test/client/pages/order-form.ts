/** A form as a server renders it and a browser hydrates it: the same component on both sides. */
import * as React from "react";
import { fromReact } from "ichido/react";

const { createElement: h } = React;
const { IdempotencyField } = fromReact(React);

export function OrderForm({ defaultValue, value }: { defaultValue?: string; value?: string }): React.ReactElement {
  const [orders, setOrders] = React.useState(0);
  // The answer goes into a frame, so that the page stays and can be hydrated after a first submission.
  return h(
    "form",
    { id: "form", method: "post", action: "/orders", target: "answer" },
    h(IdempotencyField, {
      after: orders,
      ...(defaultValue !== undefined && { defaultValue }),
      ...(value !== undefined && { value }),
    }),
    h("input", { name: "amount", defaultValue: "100" }),
    h("button", { id: "order" }, "Order"),
    h("button", { id: "next", type: "button", onClick: () => setOrders(orders + 1) }, `Next after ${orders}`),
  );
}
