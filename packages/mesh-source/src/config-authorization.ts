import { Code, ConnectError } from "@connectrpc/connect";
import type { Proxy } from "@istiod/push-context";

export interface ConfigAuthorizationOptions {
  /** Requires an authenticated identity (`ENABLE_XDS_API_GENERATOR_AUTH`). */
  readonly isRequired: boolean;
  /** Returns the namespace of control planes. */
  readonly rootNamespace: () => string;
}

/**
 * Returns the authorization of clients that read configuration objects over xDS: they must be authenticated as an
 * identity of the root namespace, unless ENABLE_XDS_API_GENERATOR_AUTH is false. It throws a ConnectError
 * `Unauthenticated` or `PermissionDenied`. Source: pilot/pkg/networking/apigen/apigen.go.
 */
export function configAuthorization({ isRequired, rootNamespace }: ConfigAuthorizationOptions): (proxy: Proxy) => void {
  return ({ verifiedIdentity }) => {
    if (!isRequired) return;
    if (verifiedIdentity === undefined)
      throw new ConnectError("configuration objects require an authenticated caller", Code.Unauthenticated);
    if (verifiedIdentity.namespace !== rootNamespace())
      throw new ConnectError(
        `configuration objects are served to callers of namespace ${rootNamespace()} only, ` +
          `the caller is of ${verifiedIdentity.namespace}`,
        Code.PermissionDenied,
      );
  };
}
