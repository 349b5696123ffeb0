/** Formats a count with its noun, as in `1 proxy` and `12 proxies`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}
