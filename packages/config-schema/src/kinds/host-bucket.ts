/**
 * Returns the bucket of a host in indexes by host. A short name (without `.` and `*`) means a service of the object's
 * namespace; since the mesh's domain is unknown here, its bucket is `ns/host`. Other hosts are their own bucket.
 */
export function hostBucket(host: string, namespace: string): string {
  return host.includes(".") || host.includes("*") ? host : `${namespace}/${host}`;
}

/**
 * Returns the buckets of objects that name exactly this host: the host itself, and the short form of a service of the
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
