/**
 * The bucket of a host in the indexes by host: a short name (no dot, no `*`) means a service of the object's own
 * namespace, and as the mesh's domain is not known here it is kept as `ns/host`; any other is kept as written.
 */
export function hostBucket(host: string, namespace: string): string {
  return host.includes(".") || host.includes("*") ? host : `${namespace}/${host}`;
}

/**
 * The buckets under which objects that name exactly this host can be: itself, and the short form of a service of the
 * mesh's domain.
 */
export function hostBuckets(hostname: string, domain: string): readonly string[] {
  const suffix = `.svc.${domain}`;
  if (!hostname.endsWith(suffix)) return [hostname];
  const parts = hostname.slice(0, -suffix.length).split(".");
  const [name, namespace] = parts;
  return parts.length === 2 && name !== undefined && namespace !== undefined
    ? [hostname, `${namespace}/${name}`]
    : [hostname];
}
