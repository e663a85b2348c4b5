declare module "autocannon" {
  export interface Result {
    readonly requests: { readonly average: number };
    readonly non2xx: number;
  }
  export default function autocannon(options: Readonly<Record<string, unknown>>): Promise<Result>;
}
