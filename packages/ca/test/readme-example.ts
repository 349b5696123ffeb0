import { CertificateAuthority, DirectoryRootStore, keepRoot, selfSignedBundle, spiffeUri } from "@istiod/ca";

/** Signs the key of a PKCS#10 request for an identity that the caller has checked; the root is stored in `directory`. */
export async function issue(directory: string, request: string): Promise<string> {
  const store = new DirectoryRootStore(directory);
  const root = await keepRoot(store, { organization: "example.org" }, Date.now());
  const authority = new CertificateAuthority({ bundle: selfSignedBundle(root, directory, Date.now()) });

  const identity = spiffeUri({ trustDomain: "example.org", namespace: "shop", serviceAccount: "cart" });
  const { certificate, roots } = await authority.sign({ request, names: [identity], lifetime: 3600 * 1000 });
  return certificate + roots;
}
