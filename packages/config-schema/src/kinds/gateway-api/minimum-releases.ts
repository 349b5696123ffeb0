/** The annotation of a CustomResourceDefinition of the Gateway API that names its release. */
export const gatewayApiReleaseAnnotation = "gateway.networking.k8s.io/bundle-version";

type Version = readonly [major: number, minor: number, patch: number];

/** The minimum release of the Gateway API by CustomResourceDefinition (pkg/config/schema/gatewayapi). */
const minimumReleases: Readonly<Record<string, Version>> = {
  "grpcroutes.gateway.networking.k8s.io": [1, 1, 0],
  "backendtlspolicies.gateway.networking.k8s.io": [1, 4, 0],
  "tlsroutes.gateway.networking.k8s.io": [1, 5, 0],
  "tcproutes.gateway.networking.k8s.io": [1, 6, 0],
  // Earlier releases have the port's number, and the parents of the status, in other fields.
  "xbackends.gateway.networking.x-k8s.io": [1, 7, 0],
};

/** A CustomResourceDefinition whose objects are ignored. */
export interface UnsupportedDefinition {
  /** The release that it names; empty if it names none. */
  readonly release: string;
  /** The first release that is supported, such as `v1.6.0`. */
  readonly minimum: string;
}

/**
 * Returns why the objects of a CustomResourceDefinition are ignored: it is of a release of the Gateway API before the
 * first one in which the kind has the version that istiod reads. Undefined for all others. Prereleases count as
 * releases.
 */
export function unsupportedDefinition(
  name: string,
  annotations: Readonly<Record<string, string>>,
): UnsupportedDefinition | undefined {
  const minimum = Object.hasOwn(minimumReleases, name) ? minimumReleases[name] : undefined;
  if (minimum === undefined) return undefined;
  const release = annotations[gatewayApiReleaseAnnotation] ?? "";
  const installed = parseVersion(release);
  const at = installed?.findIndex((part, i) => part !== minimum[i]);
  if (installed !== undefined && at !== undefined && (at < 0 || (installed[at] ?? 0) > (minimum[at] ?? 0)))
    return undefined;
  return { release, minimum: `v${minimum.join(".")}` };
}

/**
 * Parses the numbers of a semantic version, ignoring its prerelease. Minor and patch may be missing. Returns undefined
 * if it is not a version.
 */
function parseVersion(text: string): readonly number[] | undefined {
  const match = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/.exec(text);
  return match?.slice(1).map((part) => Number(part ?? 0));
}
