declare module "idempotency-backend/express" {
  const middleware: unknown;
  export default middleware;
}
