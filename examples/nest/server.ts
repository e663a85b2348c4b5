import "reflect-metadata";
import { randomUUID } from "node:crypto";
import { Body, Controller, Module, Post, UnauthorizedException, type ExecutionContext } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import { createIchido, type Context } from "ichido";
import { console as ichidoConsole } from "ichido/console";
import { memoryStore } from "ichido/memory";
import { captureBody, Idempotency, IdempotencyModule, Idempotent } from "ichido/nest";

interface Authorized {
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/** Stands for your authentication: whose token it is. Keys belong to that person, whatever token comes with them. */
const users = new Map([
  ["Bearer ann-token", "ann"],
  ["Bearer ben-token", "ben"],
]);
const userOf = (request: Authorized): string => users.get(request.headers["authorization"] ?? "") ?? "";

const ichido = createIchido({
  store: memoryStore(), // forgets with the process; docs/guide/stores.md has those that do not
  scope: (request: Authorized) => ({ principal: userOf(request) }),
  onUnknown: "hold",
});

class Payments {
  create({ amount }: { amount: number }, idempotency: Context): object {
    // The reference is for the bank: the same in every attempt.
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
// A guard: guards run before the key is looked at.
app.useGlobalGuards({
  canActivate(context: ExecutionContext): boolean {
    if (userOf(context.switchToHttp().getRequest<Authorized>()) === "") throw new UnauthorizedException();
    return true;
  },
});
// For people on call, under any prefix. Guards do not run before it: authorize says who is let in.
const authorize = (request: Authorized) =>
  userOf(request) !== "" && { user: userOf(request), can: ["read", "settle"] as const };
app.use("/console", ichidoConsole(ichido, { authorize }));
await app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
console.log(`listening on ${JSON.stringify(app.getHttpServer().address())}`);
