/** Merges a fragment into the user's own document. What the document already says stays. */
import type { OpenApiFragment, OpenApiOperation, OpenApiResponse } from "./open-api.ts";

type Json = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const objectOf = (value: unknown): Json => (isObject(value) ? value : {});

function mergeParameters(own: unknown, added: readonly Json[]): readonly unknown[] {
  const list: readonly unknown[] = Array.isArray(own) ? own : [];
  const names = new Set(
    list.filter(isObject).map(({ name, in: place }) => `${String(place)} ${String(name).toLowerCase()}`),
  );
  return [
    ...list,
    ...added.filter(({ name, in: place }) => !names.has(`${String(place)} ${String(name).toLowerCase()}`)),
  ];
}

function mergeResponse(own: unknown, added: OpenApiResponse): Json {
  if (!isObject(own)) return { ...added };
  if ("$ref" in own) return own;
  const headers = { ...added.headers, ...objectOf(own["headers"]) };
  const content = { ...added.content, ...objectOf(own["content"]) };
  return {
    ...own,
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
    ...(Object.keys(content).length > 0 ? { content } : {}),
  };
}

/** Adds the marker to the answers that the document names; `2XX` is added only where it names none. */
function mergeResponses(own: Json, { responses, "x-idempotency": rules }: OpenApiOperation): Json {
  const { "2XX": replayed, ...problems } = responses;
  const merged: Record<string, unknown> = { ...own };
  const successes = Object.keys(own).filter((status) => status.startsWith("2"));
  if (replayed !== undefined) {
    for (const status of successes.length === 0 ? ["2XX"] : successes)
      merged[status] = mergeResponse(own[status], replayed);
    // A profile may replay a 201 as 200, which the document need not know.
    if (rules["createdReplayedAs"] === 200 && isObject(own["201"]) && own["200"] === undefined) {
      merged["200"] = mergeResponse({ ...own["201"], description: "A replay of the 201" }, replayed);
    }
  }
  for (const [status, response] of Object.entries(problems)) merged[status] = mergeResponse(own[status], response);
  return merged;
}

export function mergeOpenApi<Document extends object>(document: Document, fragment: OpenApiFragment): Document {
  const own = document as Json;
  const paths: Record<string, unknown> = { ...objectOf(own["paths"]) };
  for (const [path, methods] of Object.entries(fragment.paths)) {
    const item: Record<string, unknown> = { ...objectOf(paths[path]) };
    for (const [method, operation] of Object.entries(methods)) {
      const described = objectOf(item[method]);
      item[method] = {
        ...described,
        parameters: mergeParameters(described["parameters"], operation.parameters),
        responses: mergeResponses(objectOf(described["responses"]), operation),
        "x-idempotency": operation["x-idempotency"],
      };
    }
    paths[path] = item;
  }
  const components = objectOf(own["components"]);
  return {
    ...document,
    paths,
    components: {
      ...components,
      headers: { ...fragment.components.headers, ...objectOf(components["headers"]) },
      schemas: { ...fragment.components.schemas, ...objectOf(components["schemas"]) },
    },
  };
}
