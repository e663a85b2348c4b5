/** Which members of a body count, where a route names them: `["amount", "customer.id"]`. */

/** A name leads to the members that count inside, or to `true` where everything does. */
export type FieldTree = ReadonlyMap<string, FieldTree | true>;
type GrowingTree = Map<string, GrowingTree | true>;

const trees = new WeakMap<readonly string[], FieldTree>();

/** Made once per list: a route's list never changes. */
export function fieldTreeOf(fields: readonly string[]): FieldTree {
  const known = trees.get(fields);
  if (known !== undefined) return known;
  const tree: GrowingTree = new Map();
  for (const field of fields) {
    grow(tree, field.split("."));
    // A member may have the dots in its own name; leaving it out would let two different bodies pass as one.
    tree.set(field, true);
  }
  trees.set(fields, tree);
  return tree;
}

function grow(tree: GrowingTree, path: readonly string[]): void {
  let node = tree;
  for (const [index, name] of path.entries()) {
    const inside = node.get(name);
    if (inside === true) return;
    if (index === path.length - 1) node.set(name, true);
    else if (inside === undefined) node.set(name, (node = new Map<string, GrowingTree | true>()));
    else node = inside;
  }
}

/**
 * Whether a form field counts. Forms have no nesting of their own; `customer[id]` and `items[]` are read as parsers of
 * forms read them, as `customer.id` and as a part of `items`.
 */
export function isFieldNamed(name: string, fields: readonly string[]): boolean {
  const dotted = withDots(name);
  return fields.some((field) => name === field || dotted === field || dotted.startsWith(`${field}.`));
}

/** By searches that only go forward: a regular expression would look for the end of each bracket anew. */
function withDots(name: string): string {
  let text = "";
  for (let at = 0; ;) {
    const open = name.indexOf("[", at);
    const close = open < 0 ? -1 : name.indexOf("]", open);
    if (close < 0) return text + name.slice(at);
    text += `${name.slice(at, open)}.${name.slice(open + 1, close)}`;
    at = close + 1;
  }
}
