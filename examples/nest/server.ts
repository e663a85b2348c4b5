import "reflect-metadata";
import { randomUUID } from "node:crypto";
import { Body, Controller, Module, Post } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { createIchido, type Context } from "ichido";
import { memoryStore } from "ichido/memory";
import { captureBody, Idempotency, IdempotencyModule, Idempotent } from "ichido/nest";

const ichido = createIchido<{ headers: Record<string, string | undefined> }>({
  store: memoryStore(),
  // From your guard; the whole header stands in for that here.
  scope: (request) => ({ principal: request.headers["authorization"] ?? "anonymous" }),
  onUnknown: "hold",
});

class Payments {
  create({ amount }: { amount: number }, idempotency: Context): object {
    return { id: randomUUID(), amount, reference: idempotency.reference("charge") };
  }
}

class App {}

/**
 * Node runs this file without a compiler and so without decorator syntax. In a Nest project these lines are `@Post()`,
 * `@Idempotent({ operation: "payment.create" })`, `@Body()`, `@Idempotency()`, `@Controller("payments")` and `@Module(…)`.
 */
const create = Object.getOwnPropertyDescriptor(Payments.prototype, "create") as PropertyDescriptor;
Post()(Payments.prototype, "create", create);
Idempotent({ operation: "payment.create" })(Payments.prototype, "create", create);
Body()(Payments.prototype, "create", 0);
Idempotency()(Payments.prototype, "create", 1);
Controller("payments")(Payments);
Module({ imports: [IdempotencyModule.forRoot({ ichido })], controllers: [Payments] })(App);

const app = await NestFactory.create<NestExpressApplication>(App, { logger: false });
captureBody(app);
await app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
console.log(`listening on ${JSON.stringify(app.getHttpServer().address())}`);
