/** Expands `$(NAME)` by variables. Unknown names stay as they are, and `$$` is a dollar sign, as in Kubernetes. */
export function expand(text: string, variables: ReadonlyMap<string, string>): string {
  return text.replace(/\$(\$|\(([^()]*)\))/g, (match, rest: string, name: string | undefined) =>
    rest === "$" ? "$" : (variables.get(name ?? "") ?? match),
  );
}
