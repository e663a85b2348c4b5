import type { Framework } from "./program.ts";

export const nest: Framework = {
  packages: ["@nestjs/common", "@nestjs/core", "@nestjs/platform-express", "reflect-metadata", "rxjs"],
  sign: "@nestjs/core",
  request: { type: "IncomingMessage", from: "node:http" },
  token: "request.headers.authorization",
  file: "main",
  // Node leaves types out, but does not know decorators.
  start: (file) => `npx tsx ${file}`,
  program: (engine) => `import "reflect-metadata";
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Body, Controller, Module, Post, UnauthorizedException, type ExecutionContext } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { NestExpressApplication } from "@nestjs/platform-express";
import type { Context } from "ichido";
import { captureBody, Idempotency, IdempotencyModule, Idempotent } from "ichido/nest";
import { ichido, payment, userOf } from "${engine}";

@Controller("payments")
class Payments {
  @Post()
  @Idempotent(payment)
  create(@Body() body: { amount: number }, @Idempotency() idempotency: Context): object {
    // The reference is for the bank: the same in every attempt.
    return { id: randomUUID(), amount: body.amount, reference: idempotency.reference("charge") };
  }
}

@Module({ imports: [IdempotencyModule.forRoot({ ichido })], controllers: [Payments] })
class App {}

await ichido.start(); // tells at once what is wrong with the set-up

const app = await NestFactory.create<NestExpressApplication>(App, { logger: false });
captureBody(app);
// A guard: guards run before the key is looked at.
app.useGlobalGuards({
  canActivate(context: ExecutionContext): boolean {
    if (userOf(context.switchToHttp().getRequest<IncomingMessage>()) === "") throw new UnauthorizedException();
    return true;
  },
});
await app.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1");
console.log(\`listening on \${JSON.stringify(app.getHttpServer().address())}\`);
`,
};
